// errno becomes a Status here and nowhere else on the Arrow-free side.
#pragma once

#include <string_view>

#include "base/status.h"

namespace forebay {

StatusCode CodeFromErrno(int error);

// "<what>: <strerror>", with the code the errno maps to. `what` names the thing:
// "open /data/x".
Status ErrnoStatus(int error, std::string_view what);

}  // namespace forebay
