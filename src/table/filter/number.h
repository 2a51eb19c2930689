// Decimal numbers as they are written, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "table/iceberg/value.h"

namespace forebay::table::filter {

// digits × 10^exponent. Zero has no digits.
struct Number {
  bool negative = false;
  std::string digits;  // the first is not 0
  int64_t exponent = 0;

  // "-12.5e3"; nothing for anything else.
  static std::optional<Number> Parse(std::string_view text);
};

// Where a number lies among the multiples of 10^-scale.
struct Floored {
  iceberg::Int128 value = 0;  // the largest multiple not above it, × 10^scale
  bool exact = true;
  int overflow = 0;  // -1 or 1: below or above all values of 128 bits
};
Floored FloorAt(const Number& number, int32_t scale);

}  // namespace forebay::table::filter
