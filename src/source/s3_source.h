// s3://, s3a:// and oss:// — S3 and what speaks its protocol. The identity is the ETag;
// reads carry If-Match, so a changed object answers 412 instead of other bytes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/uri.h"
#include "source/http_options.h"
#include "source/http_transfer.h"
#include "source/s3_credentials.h"
#include "source/s3_list.h"
#include "source/s3_options.h"
#include "source/source.h"

namespace forebay::source {

class S3Source : public Source {
 public:
  static Result<std::shared_ptr<Source>> Make(const Uri& uri, const Options& options);
  S3Source(const S3Options& s3, const HttpOptions& http);

  // Objects whose key is the path, or lies below it as a folder. Folder markers (empty
  // objects whose key ends with '/') are left out.
  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;
  bool streams() const override { return true; }
  Status Stream(const model::Object& object, Slice slice, const Sink& sink,
                Deadline deadline) override;

  bool pages() const override { return true; }
  Result<Page> ListPage(const PageRequest& request, Deadline deadline) override;

  std::string origin() const override { return options_.endpoint; }
  int parallelism() const override { return 16; }

 private:
  struct Place {
    std::string scheme;
    std::string bucket;
    std::string key;
    std::string ToUri(const std::string& other_key) const;
  };
  static Result<Place> PlaceOf(const std::string& uri);

  std::string Url(const std::string& bucket, const std::string& key) const;
  std::string RegionOf(const std::string& bucket) const;
  Result<http::Request> Sign(http::Request request, const std::string& bucket,
                             Deadline deadline);
  Result<Page> FetchPage(const Place& place, const S3ListRequest& list,
                         Deadline deadline);
  // Why the server refused. Learns the bucket's region and drops expired keys, and then
  // says kUnavailable: the next attempt has what was missing.
  Status Explain(const Place& place, const http::Response& response,
                 std::string_view body);
  bool LearnRegion(const std::string& bucket, const std::string& region);

  const S3Options options_;
  S3Credentials credentials_;
  HttpTransfer transfer_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> regions_;  // by bucket, as servers told
};

}  // namespace forebay::source
