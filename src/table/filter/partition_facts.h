// What a partition says of the column it was made from.
#pragma once

#include <optional>

#include "table/filter/match.h"
#include "table/iceberg/transform.h"
#include "table/iceberg/types.h"
#include "table/iceberg/value.h"

namespace forebay::table::filter {

// True when the value is one of the type, and neither null nor NaN: bounds from metadata
// are used only then.
bool IsBound(const iceberg::Type& type, const iceberg::Value& value);

// A column and what its partition values were made with.
struct PartitionSource {
  iceberg::Transform transform;
  const iceberg::Type* type = nullptr;  // the column's
};

// All rows have this partition value.
ColumnFacts FactsOfPartition(const PartitionSource& source, const iceberg::Value& value);

// All rows have partition values in this range, or null, or NaN.
struct PartitionRange {
  bool may_be_null = true;
  bool may_be_nan = true;
  std::optional<iceberg::Value> lower{};
  std::optional<iceberg::Value> upper{};
};
ColumnFacts FactsOfRange(const PartitionSource& source, const PartitionRange& range);

}  // namespace forebay::table::filter
