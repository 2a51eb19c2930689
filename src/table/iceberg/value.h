// Single values: partition values, column bounds, defaults, literals of filters.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "table/iceberg/types.h"

namespace forebay::table::iceberg {

using Int128 = __int128;

// Null; boolean; int, long, date (days), time (µs), timestamps (µs or ns); float and
// double; an unscaled decimal; string, uuid (16 bytes), fixed and binary.
using Value = std::variant<std::monostate, bool, int64_t, double, Int128, std::string>;

inline bool IsNull(const Value& value) { return value.index() == 0; }

// Binary single-value serialization (column bounds). Bounds written before a promotion
// are shorter: 4 bytes for a long or a double, fewer for a decimal. Wrong sizes are
// kCorrupt.
Result<Value> DecodeValue(const Type& type, std::string_view bytes);
// JSON single-value serialization (defaults). Primitive types only.
Result<Value> ValueFromJson(const Type& type, std::string_view json);

// Of two non-null values of a type: floats with -0 = 0 and NaN last, strings and bytes
// as unsigned bytes.
std::strong_ordering Compare(const Type& type, const Value& a, const Value& b);

// As people read it: 2026-10-01, 12.50, 'text'.
std::string ToString(const Type& type, const Value& value);

}  // namespace forebay::table::iceberg
