#include "reader/residency.h"

#include "reader/type_layout.h"

namespace forebay::reader {
namespace {

// Bits, because eight bools share a byte.
uint64_t RowBitsMin(const model::Field& field) {
  auto type = LayoutOf(field);
  if (!type.ok()) return 0;
  uint64_t children = 0;
  switch (type->layout) {
    case Layout::kBool: return 1;
    case Layout::kFixed: return 8 * type->width;
    case Layout::kFixedList: return type->width * RowBitsMin(field.children[0]);
    case Layout::kStruct:
      for (const model::Field& child : field.children) children += RowBitsMin(child);
      return children;
    default: return 8 * OffsetWidth(type->layout);
  }
}

}  // namespace

uint64_t StoredBytesMin(const model::Manifest& manifest,
                        const model::Projection& columns) {
  uint64_t stored_rows = 0;
  for (const model::UnitRecord& unit : manifest.units()) stored_rows += unit.stored_rows;
  uint64_t bytes = 0;
  for (uint32_t column : columns) {
    bytes += RowBitsMin(manifest.schema().fields[column]) * stored_rows / 8;
  }
  return bytes;
}

}  // namespace forebay::reader
