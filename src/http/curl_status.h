// curl's result codes become ours here and nowhere else.
#pragma once

#include <curl/curl.h>

#include "base/status.h"

namespace forebay::http {

// `detail` is curl's own sentence about the failure; may be empty.
Status FromCurl(CURLcode code, const char* detail);

}  // namespace forebay::http
