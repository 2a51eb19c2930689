#include "cli/column_bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay::cli {
namespace {

using reader::Column;
using reader::Layout;

uint64_t BytesOf(const Column& column) {
  uint64_t bytes = 0;
  ForEachPiece(column, [&](const uint8_t*, uint64_t size) { bytes += size; });
  return bytes;
}

Column MakeColumn(reader::TypeLayout type, uint64_t length,
                  std::vector<Column> children = {}) {
  Column column;
  column.type = type;
  column.length = length;
  column.children = std::move(children);
  return column;
}

template <typename T>
reader::Buffer BufferOf(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

TEST(ColumnBytes, CountsTheRowsOfASliceAlone) {
  std::vector<int64_t> values(100);
  std::vector<uint8_t> validity(13, 0xFF);
  Column column = MakeColumn({Layout::kFixed, 8}, 100);
  column.buffers = {BufferOf(validity), BufferOf(values)};
  EXPECT_EQ(BytesOf(column), 13 + 800);
  EXPECT_EQ(BytesOf(column.Slice(8, 16)), 2 + 128);
  EXPECT_EQ(BytesOf(column.Slice(50, 0)), 0);
}

TEST(ColumnBytes, FollowsOffsets) {
  std::vector<int32_t> offsets = {0, 3, 3, 10};
  std::vector<char> bytes(10);
  Column column = MakeColumn({Layout::kBinary32, 0}, 3);
  column.buffers = {reader::Buffer{}, BufferOf(offsets), BufferOf(bytes)};
  EXPECT_EQ(BytesOf(column), 16 + 10);
  EXPECT_EQ(BytesOf(column.Slice(1, 2)), 12 + 7);
}

TEST(ColumnBytes, GoesIntoChildren) {
  std::vector<float> values(40);
  Column items = MakeColumn({Layout::kFixed, 4}, 40);
  items.buffers = {reader::Buffer{}, BufferOf(values)};
  Column list = MakeColumn({Layout::kFixedList, 4}, 10, {items});
  EXPECT_EQ(BytesOf(list), 160);
  EXPECT_EQ(BytesOf(list.Slice(2, 3)), 48);
  Column both = MakeColumn({Layout::kStruct, 0}, 10, {list, items});
  EXPECT_EQ(BytesOf(both), 160 + 40);
}

}  // namespace
}  // namespace forebay::cli
