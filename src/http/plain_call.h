// One HTTP/1.1 call over a plain socket: for programs that must start in milliseconds,
// which loading curl would spoil. No TLS, no connection kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "http/answer_parser.h"
#include "http/message.h"

namespace forebay::http {

struct PlainRequest {
  std::string method = "GET";
  std::string address{};  // host:port or [::1]:port; without a port: 80
  std::string target{};   // path and query, encoded
  std::string body{};
  milliseconds connect_timeout{5'000};
  uint64_t answer_bytes_max = uint64_t{1} << 30;
};

// An answer of any status is a success. Failures: kUnavailable (no connection, reset, a
// body shorter than announced), kDeadline, kInvalid (no such address), kCorrupt (no
// HTTP).
Result<PlainAnswer> CallPlain(const PlainRequest& request, Deadline deadline);

}  // namespace forebay::http
