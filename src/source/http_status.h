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

}  // namespace forebay::source
