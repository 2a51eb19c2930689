// Exact evaluation of a bound filter, row by row.
#pragma once

#include <arrow/record_batch.h>

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "table/filter/bound_filter.h"

namespace forebay::table::filter {

// One bit a row, the first row lowest; bits past the end are 0.
using Mask = std::vector<uint64_t>;

// Which rows of the batch match. The batch as for BoundFilter::Apply; one that lacks a
// column, or has it in another type, is kInternal.
Result<Mask> Evaluate(const BoundFilter& filter, const arrow::RecordBatch& batch);

}  // namespace forebay::table::filter
