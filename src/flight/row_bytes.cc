#include "flight/row_bytes.h"

#include "reader/type_layout.h"

namespace forebay::flight {

using reader::Layout;

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

}  // namespace forebay::flight
