// The body of an answer to a ranged request, checked before its bytes are used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/message.h"
#include "source/http_transfer.h"

namespace forebay::source {

struct ContentRange {
  int64_t first = 0;
  int64_t last = 0;
  std::optional<int64_t> total;
};
// "bytes 0-99/1000" or "bytes 0-99/*".
std::optional<ContentRange> ParseContentRange(std::string_view text);

class RangeBody {
 public:
  RangeBody(const RangeRead& read, const Part& part);

  // A sink for http::Client. kCancelled means: enough, the rest is not needed.
  Status Take(const http::Response& head, std::span<const std::byte> piece);
  // After the transfer: what it came to. `sent` is the client's own verdict.
  Status Finish(const Result<http::Response>& sent);

  // Bytes in place that may be kept.
  int64_t kept_bytes() const { return trusted_ ? taken_ : 0; }
  uint64_t received_bytes() const { return received_; }
  milliseconds wait_at_least() const { return wait_at_least_; }

 private:
  Status CheckHead(const http::Response& head);
  Status CheckPartial(const http::Response& head);
  Status CheckWhole(const http::Response& head);
  Status CheckExact(const http::Response& head);
  Status Store(std::span<const std::byte> piece);
  Status Distrust(std::string_view why);

  const RangeRead& read_;
  const Part part_;
  bool head_checked_ = false;
  bool is_error_ = false;
  bool trusted_ = false;
  bool enough_ = false;      // what follows is not needed
  int64_t skip_ = 0;         // body bytes before the first wanted one
  int64_t expected_ = 0;     // wanted bytes in this answer
  bool may_run_on_ = false;  // the answer goes on after them
  int64_t taken_ = 0;
  uint64_t received_ = 0;
  milliseconds wait_at_least_{0};
  std::string error_body_;
};

}  // namespace forebay::source
