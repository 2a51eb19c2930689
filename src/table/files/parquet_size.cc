#include "table/files/parquet_size.h"

#include <fmt/format.h>
#include <parquet/size_statistics.h>

#include <algorithm>

namespace forebay::table {
namespace {

using parquet::arrow::SchemaField;

constexpr uint64_t kOffsetBytes = 4;

arrow::Status Impossible(std::string_view what, int64_t count) {
  return arrow::Status::SerializationError(
      fmt::format("the footer claims an impossible number of {}: {}", what, count));
}

uint64_t VariableBytes(const parquet::ColumnChunkMetaData& chunk, uint64_t values) {
  auto sizes = chunk.size_statistics();
  if (sizes != nullptr && sizes->unencoded_byte_array_data_bytes.value_or(-1) >= 0) {
    return static_cast<uint64_t>(*sizes->unencoded_byte_array_data_bytes);
  }
  auto bytes =
      static_cast<uint64_t>(std::max<int64_t>(chunk.total_uncompressed_size(), 0));
  // With a dictionary the pages say nothing about how long the values are.
  return chunk.has_dictionary_page() ? std::max(bytes, values * kUnknownValueBytes)
                                     : bytes;
}

arrow::Result<uint64_t> LeafBytes(const parquet::RowGroupMetaData& group,
                                  const SchemaField& leaf) {
  auto chunk = group.ColumnChunk(leaf.column_index);
  if (chunk->num_values() < 0) return Impossible("values", chunk->num_values());
  auto values = static_cast<uint64_t>(chunk->num_values());
  if (auto bits = FixedBits(*leaf.field->type())) return (values * *bits + 7) / 8;
  return VariableBytes(*chunk, values) + values * kOffsetBytes + values / 8;
}

}  // namespace

arrow::Result<uint64_t> MeasureColumn(const parquet::RowGroupMetaData& group,
                                      const SchemaField& column) {
  if (column.is_leaf()) return LeafBytes(group, column);
  uint64_t bytes = static_cast<uint64_t>(group.num_rows()) / 8;
  if (column.field->type()->id() != arrow::Type::STRUCT) {
    bytes += static_cast<uint64_t>(group.num_rows()) * kOffsetBytes;
  }
  for (const SchemaField& child : column.children) {
    ARROW_ASSIGN_OR_RAISE(uint64_t child_bytes, MeasureColumn(group, child));
    bytes += child_bytes;
  }
  return bytes;
}

arrow::Result<GroupLayout> MeasureRowGroup(const parquet::FileMetaData& metadata,
                                           const parquet::arrow::SchemaManifest& manifest,
                                           int group) {
  auto row_group = metadata.RowGroup(group);
  if (row_group->num_rows() < 0) return Impossible("rows", row_group->num_rows());
  if (row_group->num_columns() != metadata.num_columns()) {
    return Impossible("columns in a row group", row_group->num_columns());
  }
  GroupLayout layout;
  layout.row_count = static_cast<uint64_t>(row_group->num_rows());
  for (const SchemaField& column : manifest.schema_fields) {
    ARROW_ASSIGN_OR_RAISE(uint64_t bytes, MeasureColumn(*row_group, column));
    layout.column_bytes.push_back(bytes);
  }
  return layout;
}

}  // namespace forebay::table
