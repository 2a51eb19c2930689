// HTTP status codes become ours here and nowhere else.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "http/message.h"

namespace forebay::source {

StatusCode CodeFromHttp(int http_status);

// "<what>: HTTP 503 <detail>" with the code that the HTTP status maps to, and what to do
// where a person can act.
Status HttpStatus(int http_status, std::string_view what, std::string_view detail);

// How long the server asks to wait: Retry-After in seconds, at most a minute; else 0.
milliseconds RetryAfter(const http::Response& response);

// For how long an object that only Last-Modified identifies may still be written to
// without a trace: that time counts whole seconds, so that writes of one second look the
// same. By the server's own clock; without a Date, or with a time in its future, 2 s.
std::chrono::seconds UnsettledFor(const http::Response& response);

}  // namespace forebay::source
