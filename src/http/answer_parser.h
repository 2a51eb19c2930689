// An answer of a server that has arrived as a whole, for clients without curl. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "http/message.h"

namespace forebay::http {

struct PlainAnswer {
  Response head;
  std::string body;
};

// `bytes` is all that came until the server closed. kCorrupt: it is no HTTP.
// kUnavailable: the body is not as long as its head says. Errors begin with `address`.
Result<PlainAnswer> ParseAnswer(std::string_view bytes, const std::string& address);

}  // namespace forebay::http
