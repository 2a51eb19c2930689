#include "cli/column_bytes.h"

#include <cstring>

namespace forebay::cli {
namespace {

using reader::Column;
using reader::Layout;
using Each = std::function<void(const uint8_t* data, uint64_t size)>;

struct Rows {
  uint64_t first;
  uint64_t count;
};

uint64_t OffsetAt(const Column& column, uint64_t i) {
  uint64_t width = reader::OffsetWidth(column.type.layout);
  uint64_t offset = 0;
  std::memcpy(&offset, column.buffers[1].data + i * width, width);
  return offset;
}

void Bits(const uint8_t* bits, Rows rows, const Each& each) {
  if (bits == nullptr) return;
  uint64_t first = rows.first / 8;
  each(bits + first, (rows.first + rows.count + 7) / 8 - first);
}

// What the offsets of these rows point at, after the offsets themselves.
Rows Offsets(const Column& column, Rows rows, const Each& each) {
  uint64_t width = reader::OffsetWidth(column.type.layout);
  each(column.buffers[1].data + rows.first * width, (rows.count + 1) * width);
  uint64_t begin = OffsetAt(column, rows.first);
  return {begin, OffsetAt(column, rows.first + rows.count) - begin};
}

void Walk(const Column& column, Rows rows, const Each& each) {
  if (rows.count == 0 || column.type.layout == Layout::kNull) return;
  rows.first += column.offset;
  Bits(column.validity(), rows, each);
  switch (column.type.layout) {
    case Layout::kNull: return;
    case Layout::kBool: return Bits(column.values(), rows, each);
    case Layout::kFixed: {
      uint64_t width = column.type.width;
      return each(column.values() + rows.first * width, rows.count * width);
    }
    case Layout::kBinary32:
    case Layout::kBinary64: {
      Rows bytes = Offsets(column, rows, each);
      return each(column.buffers[2].data + bytes.first, bytes.count);
    }
    case Layout::kList32:
    case Layout::kList64:
      return Walk(column.children[0], Offsets(column, rows, each), each);
    case Layout::kFixedList: {
      uint64_t width = column.type.width;
      return Walk(column.children[0], {rows.first * width, rows.count * width}, each);
    }
    case Layout::kStruct:
      for (const Column& child : column.children) Walk(child, rows, each);
      return;
  }
}

}  // namespace

void ForEachPiece(const Column& column, const Each& each) {
  Walk(column, {0, column.length}, each);
}

}  // namespace forebay::cli
