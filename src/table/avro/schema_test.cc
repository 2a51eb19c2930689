#include "table/avro/schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace forebay::table::avro {
namespace {

TEST(AvroSchema, ReadsIcebergsAttributes) {
  auto schema = ParseSchema(R"({"type": "record", "name": "r", "fields": [
    {"name": "id", "type": "long", "field-id": 1},
    {"name": "ts", "field-id": 2, "type": ["null",
      {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": true}]},
    {"name": "l", "field-id": 3,
     "type": {"type": "array", "items": "int", "element-id": 4}},
    {"name": "m", "field-id": 5,
     "type": {"type": "map", "values": "string", "key-id": 6, "value-id": 7}},
    {"name": "d", "field-id": 8, "type": {"type": "fixed", "name": "d8", "size": 5,
      "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "im", "field-id": 9, "type": {"type": "array", "logicalType": "map",
      "items": {"type": "record", "name": "k10_v11", "fields": [
        {"name": "key", "type": "int", "field-id": 10},
        {"name": "value", "type": "bytes", "field-id": 11}]}}}]})");
  ASSERT_TRUE(schema.ok()) << schema.status();
  const auto& fields = schema->fields;
  ASSERT_EQ(fields.size(), 6U);
  EXPECT_EQ(fields[0].id, 1);
  EXPECT_EQ(fields[1].type.null_branch(), 0);
  EXPECT_EQ(fields[1].type.nullable_type().logical, Logical::kTimestampMicros);
  EXPECT_TRUE(fields[1].type.nullable_type().adjust_to_utc);
  EXPECT_EQ(fields[2].type.element_id, 4);
  EXPECT_EQ(fields[3].type.key_id, 6);
  EXPECT_EQ(fields[3].type.value_id, 7);
  EXPECT_EQ(fields[4].type.size, 5);
  EXPECT_EQ(fields[4].type.precision, 10);
  EXPECT_EQ(fields[4].type.scale, 2);
  EXPECT_EQ(fields[5].type.logical, Logical::kMap);
  EXPECT_EQ(fields[5].type.children[0].fields[1].id, 11);
  EXPECT_EQ(schema->bytes_min, 1 + 1 + 1 + 1 + 5 + 1);
}

TEST(AvroSchema, ExpandsNamedReferences) {
  auto schema = ParseSchema(R"({"type": "record", "name": "a.b.R", "fields": [
    {"name": "x", "type": {"type": "fixed", "name": "F", "size": 3}},
    {"name": "y", "type": "F"}, {"name": "z", "type": ["a.b.F", "null"]},
    {"name": "e", "type": {"type": "enum", "name": "other.E", "symbols": ["A", "B"]}},
    {"name": "e2", "type": "other.E"}]})");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->fields[1].type.size, 3);
  EXPECT_EQ(schema->fields[2].type.null_branch(), 1);
  EXPECT_EQ(schema->fields[4].type.symbols.size(), 2U);
}

TEST(AvroSchema, RefusesTypesThatContainThemselves) {
  auto schema = ParseSchema(R"({"type": "record", "name": "List", "fields": [
    {"name": "next", "type": ["null", "List"]}]})");
  ASSERT_FALSE(schema.ok());
  EXPECT_EQ(schema.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(schema.status().message().find("List"), std::string::npos);
}

TEST(AvroSchema, RefusesWhatIsNoSchema) {
  for (const char* text :
       {"", "{", "1", "[]", "\"nothing\"", R"({"type": "array"})", R"({"type": "fixed"})",
        R"({"type": "record", "name": "r"})", R"({"name": "r"})",
        R"({"type": "record", "name": "r", "fields": [{"name": "x"}]})",
        R"({"type": "fixed", "name": "f", "size": -1})", R"([["null"]])",
        R"({"type": "enum", "name": "e", "symbols": [1]})"}) {
    auto schema = ParseSchema(text);
    EXPECT_EQ(schema.status().code(), StatusCode::kCorrupt) << text;
  }
}

TEST(AvroSchema, BoundsDepthAndSize) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"type":"array","items":)";
  EXPECT_FALSE(ParseSchema(deep + "\"int\"" + std::string(100'000, '}')).ok());
  // Every record names the one before twice: 2^40 nodes when expanded.
  std::string fields = R"({"name": "f0", "type": {"type": "record", "name": "r0",
      "fields": [{"name": "x", "type": "int"}]}})";
  for (int i = 1; i <= 40; ++i) {
    fields += fmt::format(
        R"(,{{"name": "f{0}", "type": {{"type": "record", "name": "r{0}",
           "fields": [{{"name": "a", "type": "r{1}"}}, {{"name": "b", "type": "r{1}"}}]}}}})",
        i, i - 1);
  }
  auto wide =
      ParseSchema(R"({"type": "record", "name": "r", "fields": [)" + fields + "]}");
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace forebay::table::avro
