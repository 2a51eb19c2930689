#include "reader/column.h"

#include <bit>
#include <cstring>

namespace forebay::reader {
namespace {

// Set bits among `count` from bit `first` on.
uint64_t CountSetBits(const uint8_t* bits, uint64_t first, uint64_t count) {
  uint64_t total = 0, i = first, end = first + count;
  for (; i < end && i % 8 != 0; ++i) total += bits[i / 8] >> (i % 8) & 1;
  for (; i + 64 <= end; i += 64) {
    uint64_t word;
    std::memcpy(&word, bits + i / 8, sizeof(word));
    total += static_cast<uint64_t>(std::popcount(word));
  }
  for (; i < end; ++i) total += bits[i / 8] >> (i % 8) & 1;
  return total;
}

// Buffers of a whole chunk column, in the order of the C data interface.
std::array<Buffer, 3> BuffersOf(const ChunkColumn& chunk) {
  Buffer validity{chunk.validity, chunk.validity == nullptr ? 0 : (chunk.length + 7) / 8};
  Buffer offsets{chunk.offsets, (chunk.length + 1) * OffsetWidth(chunk.type.layout)};
  Buffer values{chunk.values, chunk.values_size};
  switch (chunk.type.layout) {
    case Layout::kNull: return {};
    case Layout::kBool:
    case Layout::kFixed: return {validity, values};
    case Layout::kBinary32:
    case Layout::kBinary64: return {validity, offsets, values};
    case Layout::kList32:
    case Layout::kList64: return {validity, offsets};
    case Layout::kFixedList:
    case Layout::kStruct: return {validity};
  }
  return {};
}

Column Whole(const model::Field& field, const ChunkColumn& chunk,
             const std::shared_ptr<const void>& owner) {
  Column column;
  column.field = &field;
  column.type = chunk.type;
  column.length = chunk.length;
  column.null_count =
      chunk.type.layout == Layout::kNull ? chunk.length : chunk.null_count;
  column.buffers = BuffersOf(chunk);
  column.owner = owner;
  column.children.reserve(chunk.children.size());
  for (size_t i = 0; i < chunk.children.size(); ++i) {
    column.children.push_back(Whole(field.children[i], chunk.children[i], owner));
  }
  return column;
}

}  // namespace

Column Column::Slice(uint64_t first, uint64_t count) const {
  Column slice = *this;
  slice.offset += first;
  slice.length = count;
  if (type.layout == Layout::kNull) {
    slice.null_count = count;
  } else if (null_count != 0 && count != length) {
    slice.null_count = kUnknownNulls;
  }
  // A struct's or fixed-size list's offset reaches into its children by itself.
  return slice;
}

Column SliceChunk(const model::Field& field, const ChunkColumn& chunk, uint64_t first,
                  uint64_t count, std::shared_ptr<const void> owner) {
  return Whole(field, chunk, owner).Slice(first, count);
}

ChunkColumn AsSource(const Column& column) {
  bool has_offsets = HasOffsets(column.type.layout);
  const Buffer& values = column.buffers[has_offsets ? 2 : 1];
  ChunkColumn source{.type = column.type,
                     .length = column.length,
                     .null_count = CountNulls(column),
                     .validity = column.validity(),
                     .offsets = has_offsets ? column.buffers[1].data : nullptr,
                     .values = values.data,
                     .values_size = values.size,
                     .children = {}};
  for (const Column& child : column.children) source.children.push_back(AsSource(child));
  return source;
}

uint64_t CountNulls(const Column& column) {
  if (column.null_count != Column::kUnknownNulls) return column.null_count;
  return column.length - CountSetBits(column.validity(), column.offset, column.length);
}

}  // namespace forebay::reader
