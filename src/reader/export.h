// Columns and schemas as Arrow C data interface structs. Nothing is copied: an exported
// array keeps its columns' owners until it is released.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/schema.h"
#include "reader/arrow_abi.h"
#include "reader/column.h"

namespace forebay::reader {

// `out` is overwritten and then owned by whoever calls its release.
void ExportField(const model::Field& field, ArrowSchema* out);
// A struct of the fields, which is how a record batch's schema travels.
void ExportSchema(std::span<const model::Field* const> fields,
                  std::span<const std::pair<std::string, std::string>> metadata,
                  ArrowSchema* out);

void ExportColumn(Column column, ArrowArray* out);
// A record batch: a struct array of columns that all have `length` rows.
void ExportBatch(std::vector<Column> columns, uint64_t length, ArrowArray* out);

}  // namespace forebay::reader
