// How large a Parquet row group is when decoded, from the footer alone.
#pragma once

#include <arrow/result.h>
#include <parquet/arrow/schema.h>
#include <parquet/metadata.h>

#include "table/files/table_file.h"

namespace forebay::table {

// Fixed-width columns exactly; strings from the size statistics where the writer left
// them, else from the uncompressed size. Counts that cannot be are an error.
arrow::Result<GroupLayout> MeasureRowGroup(const parquet::FileMetaData& metadata,
                                           const parquet::arrow::SchemaManifest& manifest,
                                           int group);

// Of one top-level column. `group` is one of the file whose schema `column` is of.
arrow::Result<uint64_t> MeasureColumn(const parquet::RowGroupMetaData& group,
                                      const parquet::arrow::SchemaField& column);

}  // namespace forebay::table
