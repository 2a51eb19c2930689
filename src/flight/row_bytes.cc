#include "flight/row_bytes.h"

#include "reader/type_layout.h"

namespace forebay::flight {

using reader::Layout;

namespace {

// Of the file around the columns, and of what it says of each field: far more than it is.
constexpr uint64_t kFileBytes = 16 * 1024;
constexpr uint64_t kFieldBytes = 2 * 1024;
constexpr uint64_t kValuesMax = uint64_t{1} << 44;

uint64_t Padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Texts are said twice, in the head of a file and in its foot.
uint64_t TextBytes(const std::vector<std::pair<std::string, std::string>>& metadata) {
  uint64_t bytes = 0;
  for (const auto& [key, value] : metadata) bytes += 2 * (key.size() + value.size() + 64);
  return bytes;
}

std::optional<uint64_t> BytesMax(const model::Field& field, uint64_t count) {
  auto type = reader::LayoutOf(field);
  if (!type.ok() || reader::HasOffsets(type->layout)) return std::nullopt;
  if (type->width > 0 && count > kValuesMax / type->width) return std::nullopt;
  uint64_t bits = Padded((count + 7) / 8);
  uint64_t bytes = kFieldBytes + 4 * field.name.size() + TextBytes(field.metadata) + bits;
  if (type->layout == Layout::kBool) bytes += bits;
  if (type->layout == Layout::kFixed) bytes += Padded(count * type->width);
  bool list = type->layout == Layout::kFixedList;
  for (const model::Field& child : field.children) {
    auto more = BytesMax(child, list ? count * type->width : count);
    if (!more) return std::nullopt;
    bytes += *more;
  }
  return bytes;
}

}  // namespace

std::optional<uint64_t> FixedRowBits(const model::Field& field) {
  auto type = reader::LayoutOf(field);
  if (!type.ok() || reader::HasOffsets(type->layout)) return std::nullopt;
  for (const model::Field& child : field.children) {
    if (!FixedRowBits(child)) return std::nullopt;
  }
  return LeastRowBits(field);
}

uint64_t LeastRowBits(const model::Field& field) {
  auto type = reader::LayoutOf(field);
  if (!type.ok()) return 0;
  switch (type->layout) {
    case Layout::kNull: return 0;
    case Layout::kBool: return 1;
    case Layout::kFixed: return type->width * 8;
    case Layout::kBinary32:
    case Layout::kList32: return 32;
    case Layout::kBinary64:
    case Layout::kList64: return 64;
    case Layout::kFixedList: return type->width * LeastRowBits(field.children[0]);
    case Layout::kStruct: break;
  }
  uint64_t bits = 0;
  for (const model::Field& child : field.children) bits += LeastRowBits(child);
  return bits;
}

uint64_t ColumnBytes(const reader::ChunkColumn& column) {
  uint64_t bytes = 0;
  switch (column.type.layout) {
    case Layout::kBool: bytes = (column.length + 7) / 8; break;
    case Layout::kFixed: bytes = column.length * column.type.width; break;
    case Layout::kBinary32:
    case Layout::kBinary64:
      bytes =
          column.length * reader::OffsetWidth(column.type.layout) + column.values_size;
      break;
    case Layout::kList32:
    case Layout::kList64:
      bytes = column.length * reader::OffsetWidth(column.type.layout);
      break;
    case Layout::kNull:
    case Layout::kFixedList:
    case Layout::kStruct: break;
  }
  for (const reader::ChunkColumn& child : column.children) bytes += ColumnBytes(child);
  return bytes;
}

std::optional<uint64_t> RowChunkBytesMax(const model::Schema& schema,
                                         std::span<const uint32_t> columns,
                                         uint64_t rows) {
  uint64_t bytes = kFileBytes + TextBytes(schema.metadata);
  for (uint32_t column : columns) {
    auto more = BytesMax(schema.fields[column], rows);
    if (!more) return std::nullopt;
    bytes += *more;
  }
  return bytes;
}

}  // namespace forebay::flight
