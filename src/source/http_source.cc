#include "source/http_source.h"

#include <utility>

#include "source/http_status.h"
#include "source/identity.h"
#include "source/range_body.h"

namespace forebay::source {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

http::Request MakeRequest(const std::string& uri, std::string method) {
  http::Request request;
  request.method = std::move(method);
  request.url = uri;
  request.follow_redirects = true;
  // A compressed answer would be other bytes under the same name.
  request.headers = {{"Accept-Encoding", "identity"}};
  return request;
}

Explain ExplainFor(const std::string& uri) {
  return [what = RedactUri(uri)](const http::Response& response, std::string_view) {
    return HttpStatus(response.status, what, "");
  };
}

std::optional<int64_t> SizeOf(const http::Response& response) {
  if (response.status != 206) return response.ContentLength();
  auto range = ParseContentRange(response.Find("Content-Range"));
  return range ? range->total : std::nullopt;
}

Result<model::ObjectIdentity> IdentityOf(const http::Response& response,
                                         const std::string& uri) {
  auto size = SizeOf(response);
  if (!size) {
    return Status::Unsupported("the server does not tell the size of " + RedactUri(uri) +
                               ": copy it to a file or an object store");
  }
  model::ObjectIdentity identity;
  identity.size = *size;
  identity.etag = StrongEtag(response.Find("ETag"));
  if (!identity.etag.empty()) return identity;
  auto modified = http::ParseDate(response.Find("Last-Modified"));
  if (!modified) {
    return Status::Unsupported(
        "the server gives neither ETag nor Last-Modified, so that a change of " +
        RedactUri(uri) + " could not be noticed: copy it to a file or an object store");
  }
  identity.mtime_ns = *modified * kNanosPerSecond;
  return identity;
}

Status Wait(std::chrono::seconds pause, Deadline deadline) {
  if (pause.count() == 0) return Status::OK();
  if (deadline.Remaining() < pause) {
    return DeadlineStatus("waiting for fresh files to settle");
  }
  bool slept = SleepFor(pause, deadline);
  return slept ? Status::OK() : DeadlineStatus("waiting for fresh files to settle");
}

// The validators of an answer to a read; its size is checked with the range.
Status CheckHead(const http::Response& response, const model::Object& object) {
  const model::ObjectIdentity& pinned = object.identity;
  if (!pinned.etag.empty()) {
    bool same = StrongEtag(response.Find("ETag")) == pinned.etag;
    return same ? Status::OK() : ChangedStatus(object);
  }
  auto modified = http::ParseDate(response.Find("Last-Modified"));
  bool same = modified && *modified * kNanosPerSecond == pinned.mtime_ns;
  return same ? Status::OK() : ChangedStatus(object);
}

}  // namespace

Result<std::shared_ptr<Source>> HttpSource::Make(const Uri&, const Options& options) {
  FB_ASSIGN_OR_RETURN(HttpOptions parsed, ParseHttpOptions(options));
  return std::make_shared<HttpSource>(parsed);
}

HttpSource::HttpSource(const HttpOptions& options)
    : transfer_(options.client, options.retry, stats()) {}

Result<std::vector<model::Object>> HttpSource::List(const std::string& uri,
                                                    Deadline deadline) {
  if (uri.ends_with('/')) {
    return Status::Unsupported("web servers have no folders to list: give the URL of " +
                               std::string("each file below ") + RedactUri(uri));
  }
  FB_ASSIGN_OR_RETURN(model::Object object, Stat(uri, deadline));
  return std::vector<model::Object>{std::move(object)};
}

Result<http::Response> HttpSource::Head(const std::string& uri, Deadline deadline) {
  auto prepare = [&](const Part&) -> Result<http::Request> {
    return MakeRequest(uri, "HEAD");
  };
  FB_ASSIGN_OR_RETURN(Document document,
                      transfer_.Fetch({prepare, ExplainFor(uri)}, deadline));
  return std::move(document.response);
}

// For servers that refuse HEAD, or do not tell the size there: one byte tells as much.
Result<http::Response> HttpSource::HeadByGet(const std::string& uri, Deadline deadline) {
  auto prepare = [&](const Part&) -> Result<http::Request> {
    http::Request request = MakeRequest(uri, "GET");
    request.headers.push_back({"Range", "bytes=0-0"});
    return request;
  };
  FB_ASSIGN_OR_RETURN(
      Document document,
      transfer_.Fetch({.prepare = prepare, .explain = ExplainFor(uri), .head_only = true},
                      deadline));
  return std::move(document.response);
}

Result<model::Object> HttpSource::Stat(const std::string& uri, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  Result<http::Response> head = Head(uri, deadline);
  bool refused = !head.ok() && head.status().code() == StatusCode::kUnsupported;
  if (refused || (head.ok() && !SizeOf(*head))) head = HeadByGet(uri, deadline);
  if (!head.ok()) return head.status();
  FB_ASSIGN_OR_RETURN(model::ObjectIdentity identity, IdentityOf(*head, uri));
  if (identity.etag.empty()) FB_RETURN_NOT_OK(Wait(UnsettledFor(*head), deadline));
  return model::Object{uri, std::move(identity)};
}

Status HttpSource::Read(const model::Object& object, int64_t offset,
                        std::span<std::byte> into, Deadline deadline) {
  return Stream(object, {offset, static_cast<int64_t>(into.size())}, CopyInto(into),
                deadline);
}

Status HttpSource::Stream(const model::Object& object, Slice slice, const Sink& sink,
                          Deadline deadline) {
  FB_RETURN_NOT_OK(CheckRange(object, slice.offset, static_cast<uint64_t>(slice.size)));
  if (slice.size == 0) {
    FB_ASSIGN_OR_RETURN(model::Object now, Stat(object.uri, deadline));
    return now.identity == object.identity ? Status::OK() : ChangedStatus(object);
  }
  auto prepare = [&](const Part& part) -> Result<http::Request> {
    http::Request request = MakeRequest(object.uri, "GET");
    request.headers.push_back({"Range", "bytes=" + std::to_string(part.offset) + "-" +
                                            std::to_string(part.offset + part.size - 1)});
    if (!object.identity.etag.empty()) {
      request.headers.push_back({"If-Match", QuoteEtag(object.identity.etag)});
    }
    return request;
  };
  auto explain = [&](const http::Response& response, std::string_view) {
    if (CodeFromHttp(response.status) == StatusCode::kChanged)
      return ChangedStatus(object);
    return HttpStatus(response.status, RedactUri(object.uri), "");
  };
  auto check_head = [&](const http::Response& head) { return CheckHead(head, object); };
  return transfer_.Read({object, slice, sink, prepare, explain, check_head}, deadline);
}

}  // namespace forebay::source
