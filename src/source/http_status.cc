#include "source/http_status.h"

#include <algorithm>
#include <string>

namespace forebay::source {

StatusCode CodeFromHttp(int http_status) {
  switch (http_status) {
    case 401:
    case 403:
    case 407: return StatusCode::kPermission;
    case 404:
    case 410: return StatusCode::kNotFound;
    case 412:
    case 416: return StatusCode::kChanged;  // no longer that etag, or no longer so long
    case 405:
    case 501:
    case 505: return StatusCode::kUnsupported;
    case 408:
    case 425:
    case 429: return StatusCode::kUnavailable;
    default: break;
  }
  if (http_status >= 200 && http_status < 300) return StatusCode::kOk;
  if (http_status >= 500) return StatusCode::kUnavailable;
  if (http_status >= 400) return StatusCode::kInvalid;
  return StatusCode::kUnavailable;  // an answer that makes no sense here
}

Status HttpStatus(int http_status, std::string_view what, std::string_view detail) {
  StatusCode code = CodeFromHttp(http_status);
  if (code == StatusCode::kOk) return Status::OK();
  std::string message(what);
  message += ": HTTP " + std::to_string(http_status);
  if (!detail.empty()) message += " " + std::string(detail);
  if (code == StatusCode::kPermission) message += "; check the credentials";
  if (code == StatusCode::kChanged) message = "source changed: " + message;
  return {code, std::move(message)};
}

milliseconds RetryAfter(const http::Response& response) {
  auto seconds = http::ParseNumber(response.Find("Retry-After"));
  return std::chrono::seconds(std::min<int64_t>(seconds.value_or(0), 60));
}

std::chrono::seconds UnsettledFor(const http::Response& response) {
  // One for the seconds that Last-Modified counts in, one for those of Date.
  constexpr std::chrono::seconds kSettled{2};
  auto modified = http::ParseDate(response.Find("Last-Modified"));
  auto date = http::ParseDate(response.Find("Date"));
  if (!modified || !date || *date < *modified) return kSettled;
  return std::max(kSettled - std::chrono::seconds(*date - *modified),
                  std::chrono::seconds(0));
}

}  // namespace forebay::source
