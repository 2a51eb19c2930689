#include "source/range_body.h"

#include <algorithm>

#include "base/uri.h"
#include "source/http_status.h"
#include "source/identity.h"

namespace forebay::source {
namespace {

// How much of a whole object may be read and dropped for a server without ranges.
constexpr int64_t kSkipBytesMax = 64 * int64_t{kMiB};
constexpr size_t kErrorBodyBytesMax = 64 * kKiB;

}  // namespace

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  size_t dash = text.find('-');
  size_t slash = text.find('/');
  if (dash == text.npos || slash == text.npos || dash > slash) return std::nullopt;
  auto first = http::ParseNumber(text.substr(0, dash));
  auto last = http::ParseNumber(text.substr(dash + 1, slash - dash - 1));
  auto total = http::ParseNumber(text.substr(slash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  if (!total && text.substr(slash + 1) != "*") return std::nullopt;
  return ContentRange{*first, *last, total};
}

RangeBody::RangeBody(const RangeRead& read, const Part& part)
    : read_(read), part_(part) {}

Status RangeBody::Distrust(std::string_view why) {
  trusted_ = false;
  return Status::Unavailable("the server's answer for " + RedactUri(read_.object.uri) +
                             " does not fit the request: " + std::string(why));
}

// Once per answer, before any byte of it is used.
Status RangeBody::CheckHead(const http::Response& head) {
  head_checked_ = true;
  wait_at_least_ = RetryAfter(head);
  is_error_ = head.status < 200 || head.status >= 300;
  if (is_error_) return Status::OK();
  FB_RETURN_NOT_OK(read_.check_head(head));
  if (head.status == 206) return CheckPartial(head);
  if (head.status != 200) return Distrust("HTTP " + std::to_string(head.status));
  return read_.ok_means_partial ? CheckExact(head) : CheckWhole(head);
}

Status RangeBody::CheckPartial(const http::Response& head) {
  auto range = ParseContentRange(head.Find("Content-Range"));
  if (!range) return Distrust("Content-Range is missing or malformed");
  if (range->total && *range->total != read_.object.identity.size) {
    return ChangedStatus(read_.object);
  }
  if (range->first != part_.offset || range->last >= part_.offset + part_.size) {
    return Distrust("it is another range");
  }
  expected_ = range->last - range->first + 1;
  auto length = head.ContentLength();
  if (length && *length != expected_) return Distrust("its length is not the range's");
  trusted_ = true;
  return Status::OK();
}

// The server does not do ranges: the object comes from its first byte.
Status RangeBody::CheckWhole(const http::Response& head) {
  auto length = head.ContentLength();
  if (length && *length != read_.object.identity.size) return ChangedStatus(read_.object);
  if (part_.offset > kSkipBytesMax) {
    return Status::Unsupported("the server does not serve byte ranges: copy " +
                               RedactUri(read_.object.uri) +
                               " to a server or store that does");
  }
  skip_ = part_.offset;
  expected_ = part_.size;
  may_run_on_ = true;
  trusted_ = true;
  return Status::OK();
}

Status RangeBody::CheckExact(const http::Response& head) {
  auto length = head.ContentLength();
  if (length && *length > part_.size) return Distrust("it is longer than the range");
  expected_ = length.value_or(part_.size);
  trusted_ = true;
  return Status::OK();
}

Status RangeBody::Take(const http::Response& head, std::span<const std::byte> piece) {
  received_ += piece.size();
  if (!head_checked_) FB_RETURN_NOT_OK(CheckHead(head));
  if (!is_error_) return Store(piece);
  size_t room = kErrorBodyBytesMax - std::min(error_body_.size(), kErrorBodyBytesMax);
  error_body_.append(reinterpret_cast<const char*>(piece.data()),
                     std::min(piece.size(), room));
  return Status::OK();
}

Status RangeBody::Store(std::span<const std::byte> piece) {
  auto skipped = std::min<int64_t>(skip_, static_cast<int64_t>(piece.size()));
  skip_ -= skipped;
  piece = piece.subspan(skipped);
  auto use = std::min<int64_t>(expected_ - taken_, static_cast<int64_t>(piece.size()));
  int64_t at = part_.offset - read_.slice.offset + taken_;
  if (use > 0) FB_RETURN_NOT_OK(read_.sink(at, piece.first(static_cast<size_t>(use))));
  taken_ += use;
  bool more = static_cast<int64_t>(piece.size()) > use;
  if (more && !may_run_on_) return Distrust("the body goes on after the range");
  if (taken_ < expected_ || !may_run_on_) return Status::OK();
  enough_ = true;
  return Status::Cancelled("enough was read");
}

Status RangeBody::Finish(const Result<http::Response>& sent) {
  if (enough_) return Status::OK();
  if (!sent.ok()) return sent.status();
  if (!head_checked_) FB_RETURN_NOT_OK(CheckHead(*sent));
  if (is_error_) return read_.explain(*sent, error_body_);
  if (taken_ == part_.size) return Status::OK();
  return Status::Unavailable("the answer ended early: " + RedactUri(read_.object.uri));
}

}  // namespace forebay::source
