// How large decoded columns are.
#pragma once

#include <arrow/type.h>

#include <cstdint>
#include <optional>

namespace forebay::table {

// What stands in for a variable-size value of which the footer says nothing.
constexpr uint64_t kUnknownValueBytes = 16;

// Bits per row, validity included, for types whose rows all have the same size; nothing
// for strings, lists and maps.
std::optional<uint64_t> FixedBits(const arrow::DataType& type);

}  // namespace forebay::table
