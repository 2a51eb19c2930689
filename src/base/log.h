// Logging: spdlog to stderr, level from FOREBAY_LOG (debug, info, warning, error, off).
// Log or return an error, never both. Secrets never reach here.
#pragma once

#include <spdlog/spdlog.h>

namespace forebay {

// Called once by each main.
void InitLog(const char* program, spdlog::level::level_enum default_level);

}  // namespace forebay
