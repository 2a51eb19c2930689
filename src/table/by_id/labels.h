// A file's fields under the names that chunks give them: "id7".
#pragma once

#include <arrow/array/data.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>

#include "base/status.h"
#include "table/by_id/name_mapping.h"

namespace forebay::table::by_id {

// True when a field at any depth has an id: from Parquet, from ORC's attributes, or as
// our Avro reader gives it.
bool HasIds(const arrow::Schema& file);

// Fields named by their own ids, at every depth. Those without one get names that no
// column has. kCorrupt when two fields of a struct have one id.
Result<std::shared_ptr<arrow::Schema>> LabelByIds(const arrow::Schema& file);
// Fields named by the ids that the mapping gives to their names.
Result<std::shared_ptr<arrow::Schema>> LabelByNames(const arrow::Schema& file,
                                                    const NameMapping& mapping);
// The first column is field 1, and so on.
Result<std::shared_ptr<arrow::Schema>> LabelByPlace(const arrow::Schema& file);

// The same data under a type that differs from its own in names only.
arrow::Result<std::shared_ptr<arrow::ArrayData>> Relabel(
    const std::shared_ptr<arrow::ArrayData>& data,
    const std::shared_ptr<arrow::DataType>& type);

}  // namespace forebay::table::by_id
