// The inner loops: one predicate on one array.
#pragma once

#include <arrow/array.h>

#include "base/status.h"
#include "table/filter/bound_filter.h"
#include "table/filter/mask.h"

namespace forebay::table::filter {

// Where the predicate (a comparison, in, or a prefix) holds. Bits of null rows mean
// nothing. kInternal: the array is not of the column's type.
Result<Mask> Compare(const Predicate& predicate, const Column& column,
                     const arrow::Array& array);

// Where a float is NaN; bits of null rows mean nothing.
Result<Mask> FindNans(const Column& column, const arrow::Array& array);

}  // namespace forebay::table::filter
