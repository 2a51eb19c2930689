// Brings decoded arrays to the manifest's types.
#pragma once

#include <arrow/array/data.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>

#include "table/by_id/column_fill.h"

namespace forebay::table {

// Dictionaries, views and run-ends are decoded, extension arrays become their storage,
// struct children are matched by name and missing ones are null, numbers and times are
// widened. Buffers are shared where nothing changes. A value that does not fit is an
// error. The array must be valid.
//
// With a `fill`, Iceberg's rules hold: children may be constants or defaults, a finer
// timestamp is cut to what the type can say, and one without a zone is in UTC.
arrow::Result<std::shared_ptr<arrow::ArrayData>> Conform(
    const std::shared_ptr<arrow::ArrayData>& data,
    const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool,
    const by_id::ColumnFill* fill = nullptr);

}  // namespace forebay::table
