// http:// and https:// — single objects by URL. The identity is the strong ETag, else
// size and Last-Modified; a server that gives neither is refused.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/uri.h"
#include "source/http_options.h"
#include "source/http_transfer.h"
#include "source/source.h"

namespace forebay::source {

class HttpSource : public Source {
 public:
  static Result<std::shared_ptr<Source>> Make(const Uri& uri, const Options& options);
  explicit HttpSource(const HttpOptions& options);

  // One URL is one object. Index pages are not understood: a URL that ends with '/' is
  // kUnsupported.
  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  // Waits until an object without an ETag is two seconds old by the server's clock.
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;
  bool streams() const override { return true; }
  Status Stream(const model::Object& object, Slice slice, const Sink& sink,
                Deadline deadline) override;

 private:
  Result<http::Response> Head(const std::string& uri, Deadline deadline);
  Result<http::Response> HeadByGet(const std::string& uri, Deadline deadline);

  HttpTransfer transfer_;
};

}  // namespace forebay::source
