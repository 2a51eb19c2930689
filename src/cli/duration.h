// Spans of time as people write and read them.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace forebay::cli {

// "500ms", "30s", "10m", "2h", "1d"; a number alone is seconds.
Result<milliseconds> ParseDuration(std::string_view text);
// "4s", "1m04s", "2h05m", "3d04h": two units at most, rounded down.
std::string FormatDuration(milliseconds duration);
// The same with "ago" after it, since that time of the wall clock; "-" for 0.
std::string FormatAgo(int64_t wall_ns);

}  // namespace forebay::cli
