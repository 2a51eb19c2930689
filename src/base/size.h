// Byte sizes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;
constexpr uint64_t kTiB = 1024 * kGiB;

// "4GiB", "500MB", "1.5T", "17B": decimal units (MB) and binary (MiB, M). 20 is refused.
Result<uint64_t> ParseSize(std::string_view text);
// "4.0 GiB", "17 B".
std::string FormatSize(uint64_t bytes);

}  // namespace forebay
