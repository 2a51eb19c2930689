#include "reader/export.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "reader/random_chunk.h"

namespace forebay::reader {
namespace {

std::vector<std::pair<std::string, std::string>> DecodeMetadata(const char* bytes) {
  std::vector<std::pair<std::string, std::string>> pairs;
  auto number = [&bytes] {
    int32_t value;
    std::memcpy(&value, bytes, sizeof(value));
    bytes += sizeof(value);
    return value;
  };
  auto text = [&] {
    int32_t size = number();
    bytes += size;
    return std::string(bytes - size, size);
  };
  for (int32_t count = bytes == nullptr ? 0 : number(); count > 0; --count) {
    std::string key = text();
    pairs.emplace_back(key, text());
  }
  return pairs;
}

TEST(ExportSchema, CarriesNamesFormatsFlagsAndMetadata) {
  model::Field item = MakeField("item", "i");
  item.nullable = false;
  model::Field list = MakeField("values", "+l", {item});
  list.metadata = {{"k", "v"}, {"", "w"}};
  const model::Field* fields[] = {&list, &item};
  std::vector<std::pair<std::string, std::string>> metadata = {{"made", "by"}};
  ArrowSchema schema;
  ExportSchema(fields, metadata, &schema);
  EXPECT_STREQ(schema.format, "+s");
  EXPECT_EQ(schema.n_children, 2);
  EXPECT_EQ(DecodeMetadata(schema.metadata), metadata);
  const ArrowSchema& first = *schema.children[0];
  EXPECT_STREQ(first.name, "values");
  EXPECT_EQ(first.flags, ARROW_FLAG_NULLABLE);
  EXPECT_EQ(DecodeMetadata(first.metadata), list.metadata);
  EXPECT_STREQ(first.children[0]->format, "i");
  EXPECT_EQ(first.children[0]->flags, 0);
  EXPECT_EQ(first.children[0]->metadata, nullptr);
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
}

TEST(ExportBatch, PointsAtTheColumnsBytesAndKeepsTheirOwner) {
  RandomChunks random(5);
  model::Field field = MakeField("s", "u");
  ChunkColumn chunk = random.Make(field, 50);
  auto owner = std::make_shared<int>(1);
  std::weak_ptr<int> alive = owner;
  ArrowArray array;
  ExportBatch({SliceChunk(field, chunk, 10, 20, std::move(owner))}, 20, &array);
  EXPECT_EQ(array.length, 20);
  EXPECT_EQ(array.n_buffers, 1);
  EXPECT_EQ(array.null_count, 0);
  ASSERT_EQ(array.n_children, 1);
  const ArrowArray& column = *array.children[0];
  EXPECT_EQ(column.length, 20);
  EXPECT_EQ(column.offset, 10);
  EXPECT_EQ(column.n_buffers, 3);
  EXPECT_EQ(column.buffers[0], chunk.validity);
  EXPECT_EQ(column.buffers[1], chunk.offsets);
  EXPECT_EQ(column.buffers[2], chunk.values);
  EXPECT_EQ(column.null_count, chunk.null_count == 0 ? 0 : -1);
  EXPECT_FALSE(alive.expired());
  array.release(&array);
  EXPECT_TRUE(alive.expired());
}

TEST(ExportBatch, LetsAConsumerKeepOneChild) {
  RandomChunks random(6);
  model::Field field = MakeField("x", "l");
  ChunkColumn chunk = random.Make(field, 5);
  auto first = std::make_shared<int>(1), second = std::make_shared<int>(2);
  std::weak_ptr<int> first_alive = first, second_alive = second;
  ArrowArray array;
  ExportBatch({SliceChunk(field, chunk, 0, 5, std::move(first)),
               SliceChunk(field, chunk, 0, 5, std::move(second))},
              5, &array);
  ArrowArray moved = *array.children[1];
  array.children[1]->release = nullptr;
  array.release(&array);
  EXPECT_TRUE(first_alive.expired());
  EXPECT_FALSE(second_alive.expired());
  moved.release(&moved);
  EXPECT_TRUE(second_alive.expired());
}

}  // namespace
}  // namespace forebay::reader
