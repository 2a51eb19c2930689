// Columns that are not of the data but of where it lies: _file, _pos, _row_id, …
#pragma once

#include <arrow/array/data.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "table/by_id/file_context.h"

namespace forebay::table::by_id {

// The numbers are Iceberg's reserved field ids.
enum class MetadataColumn : int32_t {
  kFile = 2147483646,
  kPosition = 2147483645,
  kSpecId = 2147483643,
  kRowId = 2147483540,
  kLastUpdatedSequenceNumber = 2147483539,
};

struct MetadataField {
  MetadataColumn column;
  std::string_view name;
  std::string_view format;  // as in model/schema.h
};

constexpr std::array<MetadataField, 5> kMetadataFields = {{
    {MetadataColumn::kRowId, "_row_id", "l"},
    {MetadataColumn::kLastUpdatedSequenceNumber, "_last_updated_sequence_number", "l"},
    {MetadataColumn::kFile, "_file", "u"},
    {MetadataColumn::kPosition, "_pos", "l"},
    {MetadataColumn::kSpecId, "_spec_id", "i"},
}};

// By the name in a chunk ("id2147483646").
std::optional<MetadataColumn> FindMetadataColumn(std::string_view chunk_name);

// Files that were rewritten keep some of the values themselves.
inline bool MayBeInFile(MetadataColumn column) {
  return column == MetadataColumn::kRowId ||
         column == MetadataColumn::kLastUpdatedSequenceNumber;
}
inline bool NeedsPosition(MetadataColumn column) {
  return column == MetadataColumn::kRowId || column == MetadataColumn::kPosition;
}

struct MetadataRows {
  int64_t first = 0;  // in the file
  int64_t count = 0;
  std::shared_ptr<arrow::ArrayData> own;  // the file's own values, or nullptr
};

// As Spark has them: without a first row id there is no lineage.
arrow::Result<std::shared_ptr<arrow::ArrayData>> MakeMetadataColumn(
    MetadataColumn column, const FileContext& context, const MetadataRows& rows,
    arrow::MemoryPool* pool);

}  // namespace forebay::table::by_id
