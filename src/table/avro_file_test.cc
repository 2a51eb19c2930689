#include <fmt/format.h>

#include <random>

#include "base/size.h"
#include "table/capped_memory_pool.h"
#include "table/files/decode_error.h"
#include "table/files/footer_cache.h"
#include "table/sample_avro.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

Result<std::unique_ptr<TableFile>> Open(const std::string& bytes,
                                        std::shared_ptr<source::MemorySource> source,
                                        FooterCache* footers = nullptr) {
  auto object = source->Put("mem://t/f.avro", bytes);
  return OpenTableFile(model::FileFormat::kAvro, {.source = source, .object = object},
                       footers);
}

Result<TablePtr> ReadAll(const std::string& bytes, std::vector<int> fields = {},
                         int64_t batch_rows = 1000) {
  auto source = std::make_shared<source::MemorySource>();
  FB_ASSIGN_OR_RETURN(auto file, Open(bytes, source));
  if (fields.empty()) {
    for (int i = 0; i < file->schema()->num_fields(); ++i) fields.push_back(i);
  }
  FB_ASSIGN_OR_RETURN(auto groups, Decoded(Guard([&] { return file->Groups(); })));
  auto read = [&]() -> arrow::Result<TablePtr> {
    ARROW_ASSIGN_OR_RAISE(auto stream,
                          file->Read({.first_group = 0,
                                      .group_count = static_cast<uint32_t>(groups.size()),
                                      .fields = fields,
                                      .batch_rows = batch_rows}));
    std::vector<BatchPtr> all;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
      if (batch == nullptr) break;
      ARROW_RETURN_NOT_OK(batch->ValidateFull());
      EXPECT_LE(batch->num_rows(), batch_rows);
      all.push_back(batch);
    }
    arrow::FieldVector columns;
    for (int field : fields) columns.push_back(file->schema()->field(field));
    ARROW_ASSIGN_OR_RAISE(auto table,
                          arrow::Table::FromRecordBatches(arrow::schema(columns), all));
    return table->CombineChunks();
  };
  return Decoded(Guard(read));
}

constexpr std::string_view kEveryType = R"({"type": "record", "name": "r", "fields": [
  {"name": "b", "type": "boolean", "field-id": 1},
  {"name": "i", "type": ["null", "int"], "field-id": 2},
  {"name": "day", "type": {"type": "int", "logicalType": "date"}, "field-id": 3},
  {"name": "l", "type": ["long", "null"], "field-id": 4},
  {"name": "time", "type": {"type": "long", "logicalType": "time-micros"}, "field-id": 5},
  {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros",
    "adjust-to-utc": false}, "field-id": 6},
  {"name": "tz", "type": {"type": "long", "logicalType": "timestamp-nanos",
    "adjust-to-utc": true}, "field-id": 7},
  {"name": "f", "type": "float", "field-id": 8},
  {"name": "d", "type": "double", "field-id": 9},
  {"name": "s", "type": "string", "field-id": 10},
  {"name": "z", "type": "bytes", "field-id": 11},
  {"name": "x", "type": {"type": "fixed", "name": "x3", "size": 3}, "field-id": 12},
  {"name": "u", "type": {"type": "fixed", "name": "u16", "size": 16,
    "logicalType": "uuid"}, "field-id": 13},
  {"name": "n", "type": {"type": "fixed", "name": "n4", "size": 4, "logicalType": "decimal",
    "precision": 9, "scale": 2}, "field-id": 14},
  {"name": "list", "type": {"type": "array", "items": ["null", "int"], "element-id": 16},
    "field-id": 15},
  {"name": "map", "type": {"type": "array", "logicalType": "map", "items": {"type": "record",
    "name": "k18_v19", "fields": [{"name": "key", "type": "int", "field-id": 18},
    {"name": "value", "type": ["null", "string"], "field-id": 19}]}}, "field-id": 17},
  {"name": "texts", "type": {"type": "map", "values": "long", "key-id": 21, "value-id": 22},
    "field-id": 20},
  {"name": "st", "type": ["null", {"type": "record", "name": "st", "fields": [
    {"name": "p", "type": "int", "field-id": 24}]}], "field-id": 23},
  {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}}]})";

std::string RowOfEveryType(bool nulls) {
  AvroValues row;
  row.Raw("\x01");
  if (nulls) {
    row.Long(0);
  } else {
    row.Long(1).Long(-5);
  }
  row.Long(18262);
  if (nulls) {
    row.Long(1);
  } else {
    row.Long(0).Long(int64_t{1} << 60);
  }
  row.Long(1'000'000).Long(-1).Long(1'000'000'001);
  row.Plain(0.5f).Plain(0.25).Text("héllo").Text(std::string_view("\0\1", 2)).Raw("abc");
  row.Raw("0123456789abcdef").Raw(std::string_view("\xFF\xFF\xFF\x83", 4));
  // Lists come in blocks, with or without their size.
  if (nulls) {
    row.Long(0).Long(0).Long(0).Long(0);
  } else {
    row.Long(1).Long(1).Long(7).Long(-1).Long(1).Long(0).Long(0);
    row.Long(1).Long(3).Long(1).Text("three").Long(0);
    row.Long(1).Text("k").Long(9).Long(0);
    row.Long(1).Long(42);
  }
  row.Long(1);
  return row.bytes();
}

std::string EveryType() {
  AvroFileWriter writer(kEveryType);
  writer.AddBlock(2, RowOfEveryType(false) + RowOfEveryType(true));
  writer.AddBlock(1, RowOfEveryType(false));
  return writer.bytes();
}

std::string Text(const TablePtr& table, const std::string& name, int64_t row) {
  return (*table->GetColumnByName(name)->GetScalar(row))->ToString();
}

TEST(AvroFile, ReadsEveryType) {
  auto table = ReadAll(EveryType());
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ((*table)->num_rows(), 3);
  std::vector<std::tuple<std::string, std::string, std::string>> wanted = {
      {"b", "true", "true"},
      {"i", "-5", "null"},
      {"day", "2020-01-01", "2020-01-01"},
      {"l", "1152921504606846976", "null"},
      {"time", "00:00:01.000000", "00:00:01.000000"},
      {"ts", "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"},
      {"f", "0.5", "0.5"},
      {"d", "0.25", "0.25"},
      {"s", "héllo", "héllo"},
      {"n", "-1.25", "-1.25"},
      {"list", "list<element: int32>[7, null]", "list<element: int32>[]"},
      {"st", "{p:int32 = 42}", "null"},
      {"e", "B", "B"}};
  for (const auto& [name, first, second] : wanted) {
    EXPECT_EQ(Text(*table, name, 0), first) << name;
    EXPECT_EQ(Text(*table, name, 1), second) << name;
    EXPECT_EQ(Text(*table, name, 2), first) << name;
  }
  EXPECT_EQ((*table)->GetColumnByName("tz")->type()->ToString(), "timestamp[ns, tz=UTC]");
  auto map = std::static_pointer_cast<arrow::MapArray>(
      (*table)->GetColumnByName("map")->chunk(0));
  EXPECT_EQ(map->value_length(0), 1);
  EXPECT_EQ((*map->items()->GetScalar(0))->ToString(), "three");
  const auto& type = static_cast<const arrow::MapType&>(
      *(*table)->schema()->GetFieldByName("map")->type());
  EXPECT_EQ(type.item_field()->metadata()->Get("PARQUET:field_id").ValueOrDie(), "19");
  auto ids = (*table)->schema()->GetFieldByName("list");
  EXPECT_EQ(ids->type()->field(0)->metadata()->Get("PARQUET:field_id").ValueOrDie(),
            "16");
}

TEST(AvroFile, SkipsColumnsThatAreNotAskedFor) {
  auto all = ReadAll(EveryType()).ValueOrDie();
  for (int i = 0; i < all->num_columns(); ++i) {
    auto one = ReadAll(EveryType(), {i}, 1);
    ASSERT_TRUE(one.ok()) << one.status() << all->field(i)->ToString();
    EXPECT_TRUE((*one)->column(0)->Equals(*all->column(i))) << all->field(i)->ToString();
  }
}

std::string ManyBlocks(int64_t blocks, size_t row_bytes) {
  AvroFileWriter writer(
      R"({"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"},
          {"name": "s", "type": "string"}]})");
  for (int64_t i = 0; i < blocks; ++i) {
    AvroValues rows;
    for (int64_t k = 0; k < 3; ++k) {
      rows.Long(3 * i + k).Text(std::string(row_bytes, static_cast<char>('a' + k)));
    }
    writer.AddBlock(3, rows.bytes());
  }
  return writer.bytes();
}

TEST(AvroFile, JoinsBlocksIntoGroupsThatAreReadAlone) {
  std::string bytes = ManyBlocks(40, 128 * kKiB);
  auto source = std::make_shared<source::MemorySource>();
  FooterCache footers;
  auto file = Open(bytes, source, &footers).ValueOrDie();
  auto groups = file->Groups().ValueOrDie();
  ASSERT_EQ(groups.size(), 4u);
  uint64_t rows = 0;
  for (const GroupLayout& group : groups) rows += group.row_count;
  EXPECT_EQ(rows, 120u);
  // The second time the blocks are known, and only the group's bytes are read.
  auto object = source->Stat("mem://t/f.avro", Deadline::Never()).ValueOrDie();
  file = OpenTableFile(model::FileFormat::kAvro, {.source = source, .object = object},
                       &footers)
             .ValueOrDie();
  uint64_t before = source->stats().bytes;
  auto stream = *file->Read(
      {.first_group = 2, .group_count = 1, .fields = {0}, .batch_rows = 1000});
  auto batch = *stream->Next();
  EXPECT_EQ(batch->num_rows(), static_cast<int64_t>(groups[2].row_count));
  auto first = std::static_pointer_cast<arrow::Int64Array>(batch->column(0))->Value(0);
  EXPECT_EQ(first, static_cast<int64_t>(groups[0].row_count + groups[1].row_count));
  EXPECT_LT(source->stats().bytes - before, bytes.size() / 3);
}

TEST(AvroFile, BlocksLargerThanAWindowAreSteppedOver) {
  std::string bytes = ManyBlocks(2, 5 * kMiB);
  auto table = ReadAll(bytes, {0});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->num_rows(), 6);
}

TEST(AvroFile, IsReadAsAPlainTableToo) {
  Sample sample;
  sample.Put("a.avro", ManyBlocks(3, 10));
  auto table = sample.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->num_rows(), 9);
}

TEST(AvroFile, CutOrFlippedAnywhereIsAnErrorOrTheSameShape) {
  std::string good = EveryType();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ReadAll(good.substr(0, size)).ok() &&
                 // Between blocks a file may end.
                 ReadAll(good.substr(0, size))->get()->num_rows() > 2)
        << size;
  }
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    auto table = ReadAll(bytes);
    if (!table.ok()) {
      EXPECT_NE(table.status().code(), StatusCode::kInternal) << table.status();
    }
  }
}

TEST(AvroFile, ABrokenBlockIsFoundBeforeItsRowsAreRead) {
  std::string bytes = ManyBlocks(2, 10);
  bytes.back() ^= 1;
  auto source = std::make_shared<source::MemorySource>();
  EXPECT_EQ(Open(bytes, source).status().code(), StatusCode::kCorrupt);
}

TEST(AvroFile, ABlockWithMoreThanItsRowsIsCorrupt) {
  AvroFileWriter writer(
      R"({"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]})");
  writer.AddBlock(1, AvroValues().Long(1).Long(2).bytes());
  EXPECT_EQ(ReadAll(writer.bytes()).status().code(), StatusCode::kCorrupt);
}

TEST(AvroFile, WhatItDoesNotReadIsNamed) {
  AvroFileWriter no_record(R"("long")");
  EXPECT_EQ(ReadAll(no_record.bytes()).status().code(), StatusCode::kUnsupported);
  AvroFileWriter wide_union(
      R"({"type": "record", "name": "r", "fields": [
          {"name": "u", "type": ["int", "string"]}]})");
  auto got = ReadAll(wide_union.bytes());
  EXPECT_EQ(got.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(got.status().message().find("f.avro"), std::string::npos);
}

}  // namespace
}  // namespace forebay::table
