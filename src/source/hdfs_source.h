// hdfs:// — WebHDFS over HTTP. The identity is size, modification time and file id,
// asked for before and after every read, because WebHDFS has no conditional reads.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/uri.h"
#include "source/http_options.h"
#include "source/http_transfer.h"
#include "source/source.h"
#include "source/tree_walk.h"

namespace forebay::source {

struct HdfsOptions {
  // "http://namenode:9870", one per namenode: another is tried when one is down or in
  // standby.
  std::vector<std::string> addresses;
  std::string origin;            // as given by hand; empty: the URI's own host
  std::string user;              // user.name; empty: the server decides
  std::string delegation_token;  // never logged

  static Result<HdfsOptions> Parse(const Uri& uri, const Options& options);
};

class HdfsSource : public Source {
 public:
  static Result<std::shared_ptr<Source>> Make(const Uri& uri, const Options& options);
  HdfsSource(HdfsOptions hdfs, const HttpOptions& http);

  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  Result<Tree> ListTree(const std::string& uri, Deadline deadline) override;
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;
  bool streams() const override { return true; }
  Status Stream(const model::Object& object, Slice slice, const Sink& sink,
                Deadline deadline) override;
  std::string origin() const override { return options_.origin; }

 private:
  Result<http::Request> MakeRequest(const std::string& uri, const std::string& operation,
                                    int failures) const;
  Result<std::string> Ask(const std::string& uri, const std::string& operation,
                          Deadline deadline);
  Result<Listed> ListFolder(const Folder& folder, Deadline deadline);
  Status CheckSame(const model::Object& object, Deadline deadline);
  Status Explain(const std::string& uri, const http::Response& response,
                 std::string_view body);

  const HdfsOptions options_;
  HttpTransfer transfer_;
  std::atomic<size_t> active_{0};  // the namenode that answered last
};

}  // namespace forebay::source
