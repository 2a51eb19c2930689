// How much is logged: FOREBAY_LOG is debug, info, warning, error or off.
#pragma once

#include <spdlog/common.h>

#include <string_view>

#include "base/status.h"

namespace forebay {

// A level as FOREBAY_LOG names it, in any letter case. Anything else is an error that
// lists the levels.
Result<spdlog::level::level_enum> ParseLogLevel(std::string_view text);

// The level that FOREBAY_LOG asks for; `default_level` where it is unset or empty.
Result<spdlog::level::level_enum> LogLevel(spdlog::level::level_enum default_level);

// Whether FOREBAY_LOG is a level. Every main asks before it does anything else.
Status CheckLogLevel();

}  // namespace forebay
