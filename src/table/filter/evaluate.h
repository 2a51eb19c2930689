// Exact evaluation of a bound filter, row by row.
#pragma once

#include <arrow/record_batch.h>

#include "base/status.h"
#include "table/filter/bound_filter.h"
#include "table/filter/mask.h"

namespace forebay::table::filter {

// Which rows of the batch match. The batch as for BoundFilter::Apply; one that lacks a
// column, or has it in another type, is kInternal.
Result<Mask> Evaluate(const BoundFilter& filter, const arrow::RecordBatch& batch);

}  // namespace forebay::table::filter
