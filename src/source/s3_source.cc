#include "source/s3_source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "http/percent.h"
#include "source/http_status.h"
#include "source/identity.h"
#include "source/xml.h"

namespace forebay::source {
namespace {

constexpr char kFirstRegion[] = "us-east-1";

std::string AwsHost(const std::string& region) {
  std::string host = "s3." + region + ".amazonaws.com";
  return region.starts_with("cn-") ? host + ".cn" : host;
}

bool IsExpiry(std::string_view code) {
  return code == "ExpiredToken" || code == "TokenRefreshRequired" ||
         code == "InvalidToken";
}

bool IsPassing(std::string_view code) {
  return code == "SlowDown" || code == "RequestTimeout" || code == "InternalError" ||
         code == "ServiceUnavailable" || code == "Throttling" ||
         code == "RequestThrottled" || code == "OperationAborted";
}

model::ObjectIdentity MakeIdentity(int64_t size, std::string etag) {
  model::ObjectIdentity identity;
  identity.size = size;
  identity.etag = std::move(etag);
  return identity;
}

Status NoEtag(const std::string& uri) {
  return Status::Unsupported("the S3 server gives no ETag for " + uri +
                             ", so that a change could not be noticed");
}

}  // namespace

Result<std::shared_ptr<Source>> S3Source::Make(const Uri& uri, const Options& options) {
  FB_ASSIGN_OR_RETURN(S3Options s3, S3Options::Parse(uri.scheme, options));
  FB_ASSIGN_OR_RETURN(HttpOptions http, ParseHttpOptions(options));
  return std::make_shared<S3Source>(s3, http);
}

S3Source::S3Source(const S3Options& s3, const HttpOptions& http)
    : options_(s3), credentials_(s3), transfer_(http.client, http.retry, stats()) {}

Result<S3Source::Place> S3Source::PlaceOf(const std::string& uri) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  if (parsed.scheme != "s3" && parsed.scheme != "oss") {
    return Status::Invalid("not an S3 URI: " + RedactUri(uri));
  }
  std::string key = parsed.path.empty() ? "" : parsed.path.substr(1);
  return Place{parsed.scheme, parsed.authority, key};
}

std::string S3Source::Place::ToUri(const std::string& other_key) const {
  return scheme + "://" + bucket + "/" + other_key;
}

std::string S3Source::RegionOf(const std::string& bucket) const {
  std::lock_guard lock(mutex_);
  auto known = regions_.find(bucket);
  if (known != regions_.end()) return known->second;
  return options_.region.empty() ? kFirstRegion : options_.region;
}

std::string S3Source::Url(const std::string& bucket, const std::string& key) const {
  std::string path = "/" + http::PercentEncodePath(key);
  std::string base = options_.endpoint.empty() ? "https://" + AwsHost(RegionOf(bucket))
                                               : options_.endpoint;
  // Certificates for *.s3.amazonaws.com do not cover a bucket with dots.
  bool dotted = bucket.find('.') != bucket.npos && base.starts_with("https://");
  if (!options_.virtual_host || dotted) {
    return base + "/" + http::PercentEncode(bucket) + path;
  }
  size_t host = base.find("://") + 3;
  return base.substr(0, host) + bucket + "." + base.substr(host) + path;
}

Result<http::Request> S3Source::Sign(http::Request request, const std::string& bucket,
                                     Deadline deadline) {
  FB_ASSIGN_OR_RETURN(request.signing, credentials_.Get(deadline));
  if (request.signing.has_value()) request.signing->region = RegionOf(bucket);
  return request;
}

bool S3Source::LearnRegion(const std::string& bucket, const std::string& region) {
  if (region.empty() || region == RegionOf(bucket)) return false;
  std::lock_guard lock(mutex_);
  regions_[bucket] = region;
  return true;
}

Status S3Source::Explain(const Place& place, const http::Response& response,
                         std::string_view body) {
  std::string code = FindXmlText(body, "Code");
  std::string region(response.Find("x-amz-bucket-region"));
  if (region.empty()) region = FindXmlText(body, "Region");
  std::string what = place.ToUri(place.key);
  bool elsewhere = response.status == 301 || response.status == 307 ||
                   response.status == 400 || response.status == 403;
  if (elsewhere && LearnRegion(place.bucket, region)) {
    return Status::Unavailable("bucket " + place.bucket + " is in region " + region);
  }
  if (IsExpiry(code) && credentials_.Expire()) {
    return Status::Unavailable("the S3 credentials have expired: " + what);
  }
  std::string detail = code;
  std::string message = FindXmlText(body, "Message");
  if (!message.empty()) detail += " (" + message + ")";
  if (IsPassing(code)) return Status::Unavailable(what + ": " + detail);
  if (IsExpiry(code)) {
    return Status::Permission(what + ": " + detail + "; renew the S3 credentials");
  }
  if (response.status == 301) {
    return Status::Invalid(what + ": the bucket is in another region; set s3.region");
  }
  return HttpStatus(response.status, what, detail);
}

Result<model::Object> S3Source::Stat(const std::string& uri, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Place place, PlaceOf(uri));
  if (place.key.empty() || place.key.ends_with('/')) {
    return Status::NotFound(uri + " is a folder, not an object");
  }
  // The answer to HEAD has no body, so a 400 does not say why; the answer to GET does.
  std::string method = "HEAD";
  HttpTransfer::FetchOptions fetch;
  fetch.head_only = true;
  fetch.prepare = [&](const Part&) {
    http::Request request;
    request.method = method;
    request.url = Url(place.bucket, place.key);
    return Sign(std::move(request), place.bucket, deadline);
  };
  fetch.explain = [&](const http::Response& response, std::string_view body) {
    if (response.status == 400 && method == "HEAD") {
      method = "GET";
      return Status::Unavailable("HTTP 400 without a reason");
    }
    return Explain(place, response, body);
  };
  FB_ASSIGN_OR_RETURN(Document document, transfer_.Fetch(fetch, deadline));
  auto size = document.response.ContentLength();
  std::string etag = StrongEtag(document.response.Find("ETag"));
  std::string canonical = place.ToUri(place.key);
  if (!size) return Status::Unavailable("the server gives no size for " + canonical);
  if (etag.empty()) return NoEtag(canonical);
  return model::Object{canonical, MakeIdentity(*size, std::move(etag))};
}

Result<Page> S3Source::FetchPage(const Place& place, const S3ListRequest& list,
                                 Deadline deadline) {
  auto prepare = [&](const Part&) {
    http::Request request;
    request.url = Url(place.bucket, "") + "?" + S3ListQuery(list);
    return Sign(std::move(request), place.bucket, deadline);
  };
  auto explain = [&](const http::Response& response, std::string_view body) {
    return Explain(place, response, body);
  };
  FB_ASSIGN_OR_RETURN(Document document, transfer_.Fetch({prepare, explain}, deadline));
  Result<S3Page> listed = ParseS3Page(document.body);
  if (!listed.ok()) return listed.status().WithContext("list " + place.ToUri(place.key));
  Page page;
  for (S3Entry& entry : listed->entries) {
    if (entry.size == 0 && entry.key.ends_with('/')) continue;
    std::string uri = place.ToUri(entry.key);
    if (entry.etag.empty()) return NoEtag(uri);
    page.objects.push_back(
        {std::move(uri), MakeIdentity(entry.size, std::move(entry.etag))});
    page.objects.back().identity.mtime_ns = entry.mtime_ns;
  }
  for (const std::string& prefix : listed->prefixes) {
    page.folders.push_back(place.ToUri(prefix));
  }
  if (!listed->next.empty() && listed->next == list.continuation) {
    return Status::Corrupt("the server's list of " + place.ToUri(place.key) +
                           " does not go on: it gives the same page again");
  }
  page.next = std::move(listed->next);
  return page;
}

Result<Page> S3Source::ListPage(const PageRequest& request, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Place place, PlaceOf(request.folder));
  S3ListRequest list{.prefix = place.key, .continuation = request.next};
  if (request.one_level) list.delimiter = "/";
  if (!request.start_after.empty()) {
    FB_ASSIGN_OR_RETURN(Place after, PlaceOf(request.start_after));
    list.start_after = after.key;
  }
  return FetchPage(place, list, deadline);
}

Result<std::vector<model::Object>> S3Source::List(const std::string& uri,
                                                  Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Place place, PlaceOf(uri));
  std::vector<model::Object> objects;
  if (!place.key.empty() && !place.key.ends_with('/')) {
    Result<model::Object> itself = Stat(uri, deadline);
    if (itself.ok()) {
      objects.push_back(*std::move(itself));
    } else if (itself.status().code() != StatusCode::kNotFound) {
      return itself.status();
    }
    place.key += '/';
  }
  S3ListRequest list{.prefix = place.key};
  do {
    FB_ASSIGN_OR_RETURN(Page page, FetchPage(place, list, deadline));
    std::ranges::move(page.objects, std::back_inserter(objects));
    list.continuation = std::move(page.next);
  } while (!list.continuation.empty());
  if (objects.empty()) return Status::NotFound("no object is at or below " + uri);
  std::ranges::sort(objects, {}, &model::Object::uri);
  return objects;
}

Status S3Source::Read(const model::Object& object, int64_t offset,
                      std::span<std::byte> into, Deadline deadline) {
  return Stream(object, {offset, static_cast<int64_t>(into.size())}, CopyInto(into),
                deadline);
}

Status S3Source::Stream(const model::Object& object, Slice slice, const Sink& sink,
                        Deadline deadline) {
  FB_RETURN_NOT_OK(CheckRange(object, slice.offset, static_cast<uint64_t>(slice.size)));
  if (slice.size == 0) {
    FB_ASSIGN_OR_RETURN(model::Object now, Stat(object.uri, deadline));
    return now.identity == object.identity ? Status::OK() : ChangedStatus(object);
  }
  FB_ASSIGN_OR_RETURN(Place place, PlaceOf(object.uri));
  auto prepare = [&](const Part& part) {
    http::Request request;
    request.url = Url(place.bucket, place.key);
    request.headers = {{"If-Match", QuoteEtag(object.identity.etag)},
                       {"Range", "bytes=" + std::to_string(part.offset) + "-" +
                                     std::to_string(part.offset + part.size - 1)}};
    return Sign(std::move(request), place.bucket, deadline);
  };
  auto explain = [&](const http::Response& response, std::string_view body) {
    if (CodeFromHttp(response.status) == StatusCode::kChanged)
      return ChangedStatus(object);
    return Explain(place, response, body);
  };
  auto check_head = [&](const http::Response& head) {
    bool same = StrongEtag(head.Find("ETag")) == object.identity.etag;
    return same ? Status::OK() : ChangedStatus(object);
  };
  return transfer_.Read({object, slice, sink, prepare, explain, check_head}, deadline);
}

}  // namespace forebay::source
