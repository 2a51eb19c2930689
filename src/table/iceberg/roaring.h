// Roaring bitmaps of 64-bit positions in their portable serialization.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::table::iceberg {

// The positions, ascending. `bytes` must hold exactly one bitmap; kCorrupt when it is
// malformed or a position is not below `limit`.
Result<std::vector<uint64_t>> DecodeRoaring64(std::string_view bytes, uint64_t limit);

}  // namespace forebay::table::iceberg
