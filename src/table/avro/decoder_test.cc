#include "table/avro/decoder.h"

#include <gtest/gtest.h>

#include <chrono>

#include "table/avro/sample_avro.h"

namespace forebay::table::avro {
namespace {

TEST(AvroDecoder, ReadsIntegersOfEverySize) {
  for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{63}, int64_t{-64},
                        int64_t{64}, int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    SampleEncoder encoder;
    encoder.Long(value);
    Decoder decoder(encoder.bytes());
    EXPECT_EQ(decoder.Long(), value);
    EXPECT_TRUE(decoder.Finish("value").ok());
  }
}

TEST(AvroDecoder, RefusesIntegersThatDoNotFit) {
  SampleEncoder encoder;
  encoder.Long(int64_t{1} << 31);
  Decoder too_large(encoder.bytes());
  too_large.Int();
  EXPECT_FALSE(too_large.ok());
  std::string_view endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  Decoder decoder(endless);
  decoder.Long();
  EXPECT_FALSE(decoder.ok());
}

TEST(AvroDecoder, ReadsNothingAfterAFailure) {
  Decoder decoder("\x7f");  // a text of -64 bytes
  EXPECT_EQ(decoder.Bytes(), "");
  EXPECT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.remaining(), 0U);
  EXPECT_EQ(decoder.Long(), 0);
  EXPECT_EQ(decoder.ItemCount(1), 0);
}

TEST(AvroDecoder, SkipsEveryType) {
  auto schema = ParseSchema(R"({"type": "record", "name": "r", "fields": [
    {"name": "a", "type": "null"}, {"name": "b", "type": "boolean"},
    {"name": "c", "type": "int"}, {"name": "d", "type": "float"},
    {"name": "e", "type": "double"}, {"name": "f", "type": "string"},
    {"name": "g", "type": {"type": "fixed", "name": "F", "size": 3}},
    {"name": "h", "type": {"type": "enum", "name": "E", "symbols": ["x"]}},
    {"name": "i", "type": {"type": "array", "items": ["null", "long"]}},
    {"name": "j", "type": {"type": "map", "values": "bytes"}}]})");
  ASSERT_TRUE(schema.ok()) << schema.status();
  SampleEncoder row;
  row.Raw("\x01").Long(7).Raw("1234").Raw("12345678").Bytes("text").Raw("xyz").Long(0);
  row.Long(2).Long(0).Long(1).Long(300);         // a block of two items
  row.Long(-1).Long(2).Long(1).Long(5).Long(0);  // one with its size in bytes
  row.Long(1).Bytes("key").Bytes("value").Long(0);
  Decoder decoder(row.bytes());
  decoder.Skip(*schema);
  EXPECT_TRUE(decoder.Finish("row").ok()) << decoder.remaining();
}

TEST(AvroDecoder, TakesNoTimeForItemsWithoutBytes) {
  auto schema = ParseSchema(R"({"type": "array", "items": "null"})");
  SampleEncoder many;
  many.Long(INT64_MAX).Long(0);
  Decoder decoder(many.bytes());
  auto start = std::chrono::steady_clock::now();
  decoder.Skip(*schema);
  EXPECT_TRUE(decoder.Finish("array").ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  Decoder counted(many.bytes());
  EXPECT_EQ(counted.ItemCount(0), 0);
  EXPECT_FALSE(counted.ok());
}

}  // namespace
}  // namespace forebay::table::avro
