// The one door of every remote call: whoever serves an RPC (Flight today) asks here first
// and turns the caller away with the status it gets. Lets all in so far: tokens and
// certificates will be looked at here and nowhere else.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay::wire {

struct Call {
  std::string method;       // "DoGet", …
  std::string peer;         // the address it comes from, as the transport spells it
  std::string credentials;  // the `authorization` header; empty where there is none
};

// kPermission turns the call away. Thread-safe; never waits.
Status Authenticate(const Call& call);

}  // namespace forebay::wire
