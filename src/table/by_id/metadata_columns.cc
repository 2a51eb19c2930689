#include "table/by_id/metadata_columns.h"

#include <arrow/api.h>
#include <fmt/format.h>

namespace forebay::table::by_id {
namespace {

using DataResult = arrow::Result<std::shared_ptr<arrow::ArrayData>>;

DataResult Repeat(const arrow::Scalar& scalar, int64_t rows, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayFromScalar(scalar, rows, pool));
  return array->data();
}

DataResult Nulls(int64_t rows, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayOfNull(arrow::int64(), rows, pool));
  return array->data();
}

// The file's own value where there is one, else start + step × row.
DataResult Inherited(const MetadataRows& rows, int64_t start, int64_t step,
                     arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(
      auto buffer, arrow::AllocateBuffer(rows.count * int64_t{sizeof(int64_t)}, pool));
  auto* out = reinterpret_cast<int64_t*>(buffer->mutable_data());
  for (int64_t i = 0; i < rows.count; ++i) out[i] = start + step * i;
  if (rows.own != nullptr) {
    arrow::Int64Array own(rows.own);
    for (int64_t i = 0; i < rows.count; ++i) {
      if (own.IsValid(i)) out[i] = own.Value(i);
    }
  }
  return arrow::ArrayData::Make(
      arrow::int64(), rows.count,
      {nullptr, std::shared_ptr<arrow::Buffer>(std::move(buffer))},
      /*null_count=*/0);
}

}  // namespace

std::optional<MetadataColumn> FindMetadataColumn(std::string_view chunk_name) {
  for (const MetadataField& field : kMetadataFields) {
    if (chunk_name == fmt::format("id{}", static_cast<int32_t>(field.column))) {
      return field.column;
    }
  }
  return std::nullopt;
}

DataResult MakeMetadataColumn(MetadataColumn column, const FileContext& context,
                              const MetadataRows& rows, arrow::MemoryPool* pool) {
  switch (column) {
    case MetadataColumn::kFile:
      return Repeat(arrow::StringScalar(context.path), rows.count, pool);
    case MetadataColumn::kSpecId:
      return Repeat(arrow::Int32Scalar(context.spec_id), rows.count, pool);
    case MetadataColumn::kPosition: {
      MetadataRows positions{.first = rows.first, .count = rows.count, .own = nullptr};
      return Inherited(positions, rows.first, 1, pool);
    }
    case MetadataColumn::kRowId:
      if (!context.first_row_id) return Nulls(rows.count, pool);
      return Inherited(rows, *context.first_row_id + rows.first, 1, pool);
    case MetadataColumn::kLastUpdatedSequenceNumber:
      if (!context.first_row_id) return Nulls(rows.count, pool);
      return Inherited(rows, context.sequence_number, 0, pool);
  }
  return arrow::Status::UnknownError("no such metadata column");
}

}  // namespace forebay::table::by_id
