#include "table/iceberg/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "table/avro/sample_avro.h"
#include "table/iceberg/manifest_list.h"

namespace forebay::table::iceberg {
namespace {

using avro::SampleEncoder;
using avro::SampleFile;

TableMetadata Table(int32_t format_version) {
  TableMetadata table;
  table.format_version = format_version;
  Field id{.id = 1, .name = "id", .required = true, .type = {.id = TypeId::kLong}};
  Field day{.id = 2, .name = "day of", .required = true, .type = {.id = TypeId::kDate}};
  table.schemas.push_back({.id = 0, .fields = {id, day}});
  PartitionField by_day{.source_id = 2, .field_id = 1000, .name = "day of"};
  PartitionField bucket{.source_id = 1, .field_id = 1001, .name = "id_bucket"};
  bucket.transform = Transform::Parse("bucket[4]");
  table.specs.push_back({.id = 3, .fields = {by_day, bucket}});
  return table;
}

// A manifest whose fields come in an unusual order and with fields nobody knows.
std::string EntrySchema(bool sequence_numbers, bool ids) {
  auto id = [&](int value) {
    return ids ? fmt::format(R"(, "field-id": {})", value) : "";
  };
  std::string sequence =
      sequence_numbers
          ? fmt::format(R"({{"name": "sequence_number", "type": ["null", "long"]{}}},)",
                        id(3))
          : "";
  return fmt::format(
      R"({{"type": "record", "name": "manifest_entry", "fields": [
      {{"name": "status", "type": "int"{}}}, {}
      {{"name": "data_file"{}, "type": {{"type": "record", "name": "r2", "fields": [
        {{"name": "extra", "type": {{"type": "map", "values": "string"}}}},
        {{"name": "record_count", "type": "long"{}}},
        {{"name": "file_path", "type": "string"{}}},
        {{"name": "partition"{}, "type": {{"type": "record", "name": "r102", "fields": [
          {{"name": "id_bucket", "type": ["null", "int"]{}}},
          {{"name": "day_x20of", "type": ["int", "null"]{}}}]}}}},
        {{"name": "file_format", "type": "string"{}}},
        {{"name": "lower_bounds", "type": ["null", {{"type": "array", "logicalType": "map",
          "items": {{"type": "record", "name": "k126_v127", "fields": [
            {{"name": "key", "type": "int"}}, {{"name": "value", "type": "bytes"}}]}}}}]{}}},
        {{"name": "first_row_id", "type": ["null", "long"]{}}},
        {{"name": "file_size_in_bytes", "type": "long"{}}}]}}}}]}})",
      id(0), sequence, id(2), id(103), id(100), id(102), id(1001), id(1000), id(101),
      id(125), id(142), id(104));
}

struct Entry {
  int status = 1;
  std::optional<int64_t> sequence_number{};
  std::string path{};
  std::optional<int64_t> first_row_id{};
  int64_t record_count = 10;
};

struct ManifestSample {
  bool sequence_numbers = true;
  bool ids = true;
  std::vector<Entry> entries{};

  std::string Write() const {
    SampleFile file{.schema = EntrySchema(sequence_numbers, ids), .codec = "deflate"};
    SampleEncoder rows;
    for (const Entry& entry : entries) {
      rows.Long(entry.status);
      if (sequence_numbers) Optional(rows, entry.sequence_number);
      rows.Long(1).Bytes("k").Bytes("v").Long(0);
      rows.Long(entry.record_count).Bytes(entry.path);
      rows.Long(1).Long(2).Long(0).Long(19'000);  // bucket 2, a day
      rows.Bytes("PARQUET");
      rows.Long(1).Long(2).Long(2).Bytes("b2").Long(1).Bytes("b1").Long(0);
      Optional(rows, entry.first_row_id);
      rows.Long(1000);
    }
    file.blocks.push_back({static_cast<int64_t>(entries.size()), rows.bytes()});
    return file.Write();
  }

  static void Optional(SampleEncoder& rows, std::optional<int64_t> value) {
    rows.Long(value ? 1 : 0);
    if (value) rows.Long(*value);
  }
};

Result<ManifestContents> Parse(const std::string& bytes, const TableMetadata& table,
                               ManifestFile manifest) {
  manifest.spec_id = 3;
  return ParseManifest(bytes, {.metadata = &table,
                               .manifest = &manifest,
                               .filter = nullptr,
                               .keep_metrics = true});
}

TEST(Manifest, FindsFieldsByIdAndByName) {
  TableMetadata table = Table(2);
  for (bool ids : {true, false}) {
    ManifestSample sample{.ids = ids, .entries = {{.path = "s3://b/x"}}};
    auto contents = Parse(sample.Write(), table, {.sequence_number = 5});
    ASSERT_TRUE(contents.ok()) << contents.status();
    ASSERT_EQ(contents->data.size(), 1U);
    const DataFile& file = contents->data[0];
    EXPECT_EQ(file.path, "s3://b/x");
    EXPECT_EQ(file.record_count, 10);
    EXPECT_EQ(file.file_size, 1000);
    EXPECT_EQ(file.spec_id, 3);
    ASSERT_EQ(file.partition.size(), 2U);
    EXPECT_EQ(file.partition[0], Value(int64_t{19'000}));
    EXPECT_EQ(file.partition[1], Value(int64_t{2}));
    // Sorted by id, whatever the writer did.
    EXPECT_EQ(file.lower_bounds, (ById<std::string>{{1, "b1"}, {2, "b2"}}));
    EXPECT_EQ(file.sequence_number, 5);
  }
}

TEST(Manifest, InheritsSequenceNumbersOfAddedFilesOnly) {
  TableMetadata table = Table(2);
  ManifestSample sample{.entries = {{.status = 1, .path = "a"},
                                    {.status = 1, .sequence_number = 2, .path = "b"},
                                    {.status = 0, .sequence_number = 1, .path = "c"},
                                    {.status = 2, .sequence_number = 1, .path = "d"}}};
  auto contents = Parse(sample.Write(), table, {.sequence_number = 7});
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_EQ(contents->data.size(), 3U);
  EXPECT_EQ(contents->data[0].sequence_number, 7);
  EXPECT_EQ(contents->data[1].sequence_number, 2);
  EXPECT_EQ(contents->data[2].sequence_number, 1);
  sample.entries = {{.status = 0, .path = "old"}};
  auto refused = Parse(sample.Write(), table, {.sequence_number = 7});
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(refused.status().message().find("old"), std::string::npos);
  // A manifest from before the table had numbers.
  EXPECT_EQ(Parse(sample.Write(), table, {.sequence_number = 0})->data[0].sequence_number,
            0);
}

TEST(Manifest, GivesFilesOfTheFirstVersionNumberZero) {
  ManifestSample sample{.sequence_numbers = false, .entries = {{.path = "a"}}};
  TableMetadata second = Table(2);
  EXPECT_EQ(Parse(sample.Write(), second, {})->data[0].sequence_number, 0);
  // Some writers of version 2 leave the field out: the files are as old as the manifest.
  EXPECT_EQ(
      Parse(sample.Write(), second, {.sequence_number = 7})->data[0].sequence_number, 7);
  sample.entries[0].status = 0;
  EXPECT_EQ(
      Parse(sample.Write(), second, {.sequence_number = 7})->data[0].sequence_number, 0);
  ManifestSample numbered{.entries = {{.sequence_number = 4, .path = "a"}}};
  TableMetadata first = Table(1);
  EXPECT_EQ(
      Parse(numbered.Write(), first, {.sequence_number = 7})->data[0].sequence_number, 0);
}

TEST(Manifest, CountsRowIdsOverFilesWithoutTheirOwn) {
  TableMetadata table = Table(3);
  ManifestSample sample{
      .entries = {{.path = "a", .record_count = 10},
                  {.path = "b", .first_row_id = 5, .record_count = 100},
                  {.status = 2, .path = "gone", .record_count = 1000},
                  {.status = 0, .sequence_number = 1, .path = "c", .record_count = 20},
                  {.path = "d"}}};
  auto contents = Parse(sample.Write(), table, {.first_row_id = 1000});
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->data[0].first_row_id, 1000);
  EXPECT_EQ(contents->data[1].first_row_id, 5);
  EXPECT_EQ(contents->data[2].first_row_id, 1010);
  EXPECT_EQ(contents->data[3].first_row_id, 1030);
  // A manifest without a first row id has no row ids at all.
  auto without = Parse(sample.Write(), table, {});
  EXPECT_FALSE(without->data[1].first_row_id.has_value());
}

TEST(Manifest, RefusesOtherFilesThanItsListCounts) {
  TableMetadata table = Table(2);
  ManifestSample sample{.entries = {{.path = "a"}, {.path = "b"}}};
  EXPECT_TRUE(Parse(sample.Write(), table, {.added_files = 2, .existing_files = 0}).ok());
  auto refused = Parse(sample.Write(), table, {.added_files = 3, .existing_files = 0});
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt);
}

TEST(Manifest, RefusesWhatMakesNoSense) {
  TableMetadata table = Table(2);
  auto code = [&](const Entry& entry) {
    return Parse(ManifestSample{.entries = {entry}}.Write(), table, {}).status().code();
  };
  EXPECT_EQ(code({.path = ""}), StatusCode::kCorrupt);
  EXPECT_EQ(code({.path = "a", .record_count = -1}), StatusCode::kCorrupt);
  EXPECT_EQ(code({.status = 3, .path = "a"}), StatusCode::kCorrupt);
  ManifestFile deletes;
  deletes.holds_deletes = true;
  ManifestSample sample{.entries = {{.path = "a"}}};
  EXPECT_EQ(Parse(sample.Write(), table, deletes).status().code(), StatusCode::kCorrupt);
  TableMetadata no_spec = Table(2);
  no_spec.specs.clear();
  EXPECT_EQ(Parse(sample.Write(), no_spec, {}).status().code(), StatusCode::kCorrupt);
}

TEST(Manifest, SurvivesDamage) {
  TableMetadata table = Table(3);
  ManifestSample sample{.entries = {{.path = "s3://b/a"}, {.path = "s3://b/b"}}};
  std::string bytes = sample.Write();
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto contents = Parse(bytes.substr(0, size), table, {.added_files = 2});
    EXPECT_FALSE(contents.ok()) << size;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    auto contents = Parse(bytes, table, {.added_files = 2});
    EXPECT_NE(contents.status().code(), StatusCode::kInternal);
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

std::string ListSample(int64_t content) {
  SampleFile file{.schema = R"({"type": "record", "name": "manifest_file", "fields": [
    {"name": "manifest_path", "type": "string", "field-id": 500},
    {"name": "manifest_length", "type": "long", "field-id": 501},
    {"name": "partition_spec_id", "type": "int", "field-id": 502},
    {"name": "content", "type": "int", "field-id": 517},
    {"name": "sequence_number", "type": "long", "field-id": 515},
    {"name": "added_data_files_count", "type": ["null", "int"], "field-id": 504},
    {"name": "partitions", "field-id": 507, "type": ["null", {"type": "array",
      "items": {"type": "record", "name": "r508", "fields": [
        {"name": "contains_null", "type": "boolean", "field-id": 509},
        {"name": "lower_bound", "type": ["null", "bytes"], "field-id": 510}]}}]},
    {"name": "key_metadata", "type": ["null", "bytes"], "field-id": 519},
    {"name": "first_row_id", "type": ["null", "long"], "field-id": 520}]})",
                  .codec = "zstandard"};
  SampleEncoder rows;
  rows.Bytes("s3://b/m").Long(77).Long(3).Long(content).Long(9).Long(1).Long(4);
  rows.Long(1).Long(2).Raw(std::string("\1\0", 2)).Raw(std::string("\0", 1)).Long(1);
  rows.Bytes("lo").Long(0);
  rows.Long(0).Long(1).Long(500);
  file.blocks.push_back({1, rows.bytes()});
  return file.Write();
}

TEST(ManifestList, ReadsWhatIsThere) {
  auto list = ParseManifestList(ListSample(0));
  ASSERT_TRUE(list.ok()) << list.status();
  const ManifestFile& manifest = list->at(0);
  EXPECT_EQ(manifest.path, "s3://b/m");
  EXPECT_EQ(manifest.length, 77);
  EXPECT_EQ(manifest.spec_id, 3);
  EXPECT_EQ(manifest.sequence_number, 9);
  EXPECT_EQ(manifest.added_files, 4);
  EXPECT_FALSE(manifest.existing_files.has_value());
  EXPECT_EQ(manifest.first_row_id, 500);
  ASSERT_EQ(manifest.partitions.size(), 2U);
  EXPECT_TRUE(manifest.partitions[0].contains_null);
  EXPECT_FALSE(manifest.partitions[0].lower_bound.has_value());
  EXPECT_EQ(manifest.partitions[1].lower_bound, "lo");
  EXPECT_TRUE(ParseManifestList(ListSample(1))->at(0).holds_deletes);
  EXPECT_EQ(ParseManifestList(ListSample(2)).status().code(), StatusCode::kCorrupt);
}

TEST(ManifestList, SurvivesDamage) {
  std::string bytes = ListSample(0);
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto list = ParseManifestList(bytes.substr(0, size));
    EXPECT_TRUE(!list.ok() || list->empty()) << size;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_NE(ParseManifestList(bytes).status().code(), StatusCode::kInternal);
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace forebay::table::iceberg
