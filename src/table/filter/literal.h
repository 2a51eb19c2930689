// From a literal to a value of a column's type.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "table/filter/parse.h"
#include "table/iceberg/types.h"
#include "table/iceberg/value.h"

namespace forebay::table::filter {

// Where a literal lies among the values of a type.
enum class Position : uint8_t {
  kExact,    // it is one: `value`
  kBetween,  // above `value`, below the next
  kBelow,    // below all
  kAbove,    // above all
  kNan,
};

struct Located {
  Position position = Position::kExact;
  iceberg::Value value{};
};

// Nothing is rounded, except to float and double: there the nearest value stands for the
// literal. kInvalid: "'abc' is not an int: …", without a place.
Result<Located> Locate(const Literal& literal, const iceberg::Type& type);

}  // namespace forebay::table::filter
