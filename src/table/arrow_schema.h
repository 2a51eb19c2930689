// Between Arrow's types and the manifest's (Arrow C data interface format strings).
#pragma once

#include <arrow/type.h>

#include <memory>

#include "base/status.h"
#include "model/chunk.h"
#include "model/schema.h"

namespace forebay::table {

// What a column is stored as: dictionaries, views and run-ends become plain, an extension
// type its storage, at every depth. kUnsupported for unions and types unknown to us.
Result<std::shared_ptr<arrow::DataType>> PlainType(
    const std::shared_ptr<arrow::DataType>& type);

// A column in the manifest. One that has no plain type gets the format "?<type's name>"
// and fails only when it is read. Extension names stay in the metadata.
Result<model::Field> FromArrowField(const arrow::Field& field);
Result<model::Schema> FromArrowSchema(const arrow::Schema& schema);

// kUnsupported with the column's name for "?…" formats.
Result<std::shared_ptr<arrow::Field>> ToArrowField(const model::Field& field);
Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const model::Schema& schema);

// The projected columns as a chunk has them: Field::ChunkName at every depth and plain
// types, everything nullable, no metadata, because a chunk's key covers those only.
Result<std::shared_ptr<arrow::Schema>> ChunkSchema(const model::Schema& schema,
                                                   const model::Projection& columns);

}  // namespace forebay::table
