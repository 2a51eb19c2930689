// Decimals as unscaled 128-bit integers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "table/iceberg/types.h"
#include "table/iceberg/value.h"

namespace forebay::table::iceberg {

// Two's complement, big-endian. Nothing for no bytes and for values beyond 128 bits.
std::optional<Int128> DecimalFromBytes(std::string_view bytes);
// The fewest bytes that hold the value.
std::string DecimalToBytes(Int128 unscaled);

// "14.20", "-3", "2E+20" at the scale of `type`; nothing when digits would be lost or the
// precision does not suffice.
std::optional<Int128> ParseDecimal(std::string_view text, const Type& type);
std::string FormatDecimal(Int128 unscaled, int32_t scale);

}  // namespace forebay::table::iceberg
