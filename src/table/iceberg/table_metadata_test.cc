#include "table/iceberg/table_metadata.h"

#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace forebay::table::iceberg {
namespace {

using Json = nlohmann::json;

Json Sample() {
  return Json::parse(R"json({
    "format-version": 2, "table-uuid": "u-1", "location": "s3://b/t",
    "last-sequence-number": 3, "last-updated-ms": 3000, "last-column-id": 9,
    "current-schema-id": 1, "schemas": [
      {"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "required": true, "type": "long"}]},
      {"type": "struct", "schema-id": 1, "fields": [
        {"id": 1, "name": "id", "required": true, "type": "long"},
        {"id": 2, "name": "tags", "required": false, "type": {"type": "map",
          "key-id": 3, "key": "string", "value-id": 4, "value-required": false,
          "value": {"type": "list", "element-id": 5, "element-required": true,
                    "element": {"type": "struct", "fields": [
            {"id": 6, "name": "x", "required": false, "type": "decimal(9, 2)",
             "initial-default": "1.25"}]
}
}
}
}]
}],
    "default-spec-id": 7, "last-partition-id": 1000, "partition-specs": [
      {"spec-id": 7, "fields": [
        {"source-id": 1, "field-id": 1000, "name": "id_bucket", "transform": "bucket[4]"}]}],
    "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
    "properties": {"a": "b"}, "current-snapshot-id": 30, "snapshots": [
      {"snapshot-id": 10, "sequence-number": 1, "timestamp-ms": 1000, "schema-id": 0,
       "manifest-list": "s3://b/1", "summary": {"operation": "append", "total-records": "5"}},
      {"snapshot-id": 20, "sequence-number": 2, "timestamp-ms": 2000, "schema-id": 1,
       "parent-snapshot-id": 10, "manifest-list": "s3://b/2"},
      {"snapshot-id": 30, "sequence-number": 3, "timestamp-ms": 3000,
       "manifest-list": "s3://b/3"}],
    "snapshot-log": [{"timestamp-ms": 1000, "snapshot-id": 10},
                     {"timestamp-ms": 2000, "snapshot-id": 20},
                     {"timestamp-ms": 2500, "snapshot-id": 10},
                     {"timestamp-ms": 3000, "snapshot-id": 30}],
    "refs": {
  "gold" : {"snapshot-id" : 10, "type" : "tag"},
           "dev" : {"snapshot-id" : 20, "type" : "branch"},
                   "main" : {
    "snapshot-id" : 30, "type" : "branch"
  }
}
})json");
}

TableMetadata Parsed(const Json& json) {
  return ParseTableMetadata(json.dump()).ValueOrDie();
}

StatusCode CodeOf(const Json& json) {
  return ParseTableMetadata(json.dump()).status().code();
}

TEST(TableMetadata, ReadsSchemasSpecsSnapshotsAndRefs) {
  TableMetadata table = Parsed(Sample());
  EXPECT_EQ(table.location, "s3://b/t");
  const Field* nested = table.FindSchema(1)->FindById(6);
  ASSERT_NE(nested, nullptr);
  EXPECT_EQ(nested->type.ToString(), "decimal(9,2)");
  EXPECT_EQ(nested->initial_default, "\"1.25\"");
  EXPECT_EQ(table.FindSchema(1)->FindByName("tags")->type.ToString(),
            "map<string,list<struct<x:decimal(9,2)>>>");
  EXPECT_EQ(table.FindSpec(7)->fields[0].transform.ToString(), "bucket[4]");
  EXPECT_EQ(table.FindSnapshot(10)->summary.at("total-records"), "5");
  EXPECT_EQ(table.FindSnapshot(20)->parent_id, 10);
  EXPECT_TRUE(table.refs.at("dev").is_branch);
  EXPECT_FALSE(table.refs.at("gold").is_branch);
  EXPECT_EQ(table.SourceType(1)->id, TypeId::kLong);
  EXPECT_EQ(table.SourceType(99), nullptr);
}

TEST(TableMetadata, ReadsGzipWhateverTheName) {
  std::string text = Sample().dump();
  auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP).ValueOrDie();
  auto* input = reinterpret_cast<const uint8_t*>(text.data());
  auto size = static_cast<int64_t>(text.size());
  std::string packed(codec->MaxCompressedLen(size, input), '\0');
  packed.resize(codec
                    ->Compress(size, input, static_cast<int64_t>(packed.size()),
                               reinterpret_cast<uint8_t*>(packed.data()))
                    .ValueOrDie());
  EXPECT_EQ(ParseTableMetadata(packed)->uuid, "u-1");
  EXPECT_FALSE(ParseTableMetadata(packed.substr(0, packed.size() / 2)).ok());
}

TEST(TableMetadata, ReadsTheFirstVersionsOwnFields) {
  Json json = Json::parse(R"({"format-version": 1, "location": "/t", "last-updated-ms": 1,
    "last-column-id": 2, "schema": {"type": "struct", "fields": [
      {"id": 1, "name": "a", "required": true, "type": "int"},
      {"id": 2, "name": "b", "required": false, "type": "date"}]},
    "partition-spec": [{"source-id": 1, "name": "a", "transform": "identity"},
                       {"source-id": 2, "name": "b_day", "transform": "day"}],
    "current-snapshot-id": 5, "snapshots": [
      {"snapshot-id": 5, "timestamp-ms": 1, "manifests": ["/t/m1.avro", "/t/m2.avro"]}]})");
  TableMetadata table = Parsed(json);
  EXPECT_EQ(table.specs[0].id, 0);
  EXPECT_EQ(table.specs[0].fields[1].field_id, 1001);
  EXPECT_EQ(table.snapshots[0].manifests.size(), 2U);
  EXPECT_EQ(table.refs.at("main").snapshot_id, 5);
  EXPECT_EQ(ChooseState(table, {})->snapshot->id, 5);
  json["current-snapshot-id"] = -1;
  EXPECT_EQ(ChooseState(Parsed(json), {})->snapshot, nullptr);
  json["current-snapshot-id"] = nullptr;
  EXPECT_EQ(ChooseState(Parsed(json), {})->snapshot, nullptr);
  EXPECT_NE(ChooseState(Parsed(json), {})->schema, nullptr);
}

TEST(TableMetadata, RefusesWhatIsNoMetadata) {
  for (const char* text : {"", "{", "[]", "7", "{\"a\": 1}", "PAR1"}) {
    EXPECT_EQ(ParseTableMetadata(text).status().code(), StatusCode::kInvalid) << text;
  }
}

TEST(TableMetadata, RefusesNewerVersionsAndEncryption) {
  Json newer = Sample();
  newer["format-version"] = 4;
  EXPECT_EQ(CodeOf(newer), StatusCode::kUnsupported);
  Json keys = Sample();
  keys["encryption-keys"] = Json::array({Json::object()});
  EXPECT_EQ(CodeOf(keys), StatusCode::kUnsupported);
  Json snapshot_key = Sample();
  snapshot_key["snapshots"][0]["key-id"] = "k";
  EXPECT_EQ(CodeOf(snapshot_key), StatusCode::kUnsupported);
}

TEST(TableMetadata, RefusesWhatDoesNotAddUp) {
  for (const char* key :
       {"location", "schemas", "current-schema-id", "partition-specs", "default-spec-id",
        "last-partition-id", "sort-orders", "default-sort-order-id", "table-uuid",
        "last-sequence-number", "last-updated-ms", "last-column-id"}) {
    Json json = Sample();
    json.erase(key);
    EXPECT_EQ(CodeOf(json), StatusCode::kCorrupt) << key;
    json[key] = Json::object({{"x", 1}});
    EXPECT_EQ(CodeOf(json), StatusCode::kCorrupt) << key;
  }
  for (auto [pointer, value] : {std::pair<const char*, Json>{"/current-schema-id", 5},
                                {"/default-spec-id", 0},
                                {"/current-snapshot-id", 99},
                                {"/snapshots/1/snapshot-id", 10},
                                {"/snapshots/1/manifest-list", nullptr},
                                {"/schemas/1/fields/1/id", 1},
                                {"/schemas/1/fields/1/name", "id"},
                                {"/schemas/1/fields/0/id", 1LL << 40},
                                {"/schemas/1/type", "list"},
                                {"/refs/dev/type", "twig"},
                                {"/properties", 1}}) {
    Json json = Sample();
    json[Json::json_pointer(pointer)] = value;
    EXPECT_EQ(CodeOf(json), StatusCode::kCorrupt) << pointer;
  }
}

TEST(TableMetadata, BoundsNesting) {
  std::string type = "\"int\"";
  for (int i = 0; i < 100; ++i) {
    type = R"({"type": "list", "element-id": )" + std::to_string(100 + i) +
           R"(, "element-required": true, "element": )" + type + "}";
  }
  Json json = Sample();
  json["schemas"][1]["fields"][0]["type"] = Json::parse(type);
  EXPECT_EQ(CodeOf(json), StatusCode::kUnsupported);
}

// Every way to cut or change one byte of the text: an answer or an error.
TEST(TableMetadata, SurvivesDamage) {
  std::string text = Sample().dump();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ParseTableMetadata(text.substr(0, size)).status().code(),
              StatusCode::kInvalid);
  }
  for (size_t i = 0; i < text.size(); ++i) {
    for (char flip : {'\x01', '\x04', '\x10', '\x20', '\x80'}) {
      text[i] ^= flip;
      auto table = ParseTableMetadata(text);
      EXPECT_NE(table.status().code(), StatusCode::kInternal);
      if (table.ok()) (void)ChooseState(*table, {.tag = "gold"});
      text[i] ^= flip;
    }
  }
}

TEST(ChooseState, FindsSnapshotsTagsBranchesAndTimes) {
  TableMetadata table = Parsed(Sample());
  auto chosen = [&](const SnapshotChoice& choice) {
    auto state = ChooseState(table, choice).ValueOrDie();
    return std::pair(state.snapshot->id, state.schema->id);
  };
  EXPECT_EQ(chosen({}), std::pair(int64_t{30}, 1));
  EXPECT_EQ(chosen({.snapshot = 10}), std::pair(int64_t{10}, 0));
  EXPECT_EQ(chosen({.tag = "gold"}), std::pair(int64_t{10}, 0));
  EXPECT_EQ(chosen({.branch = "dev"}), std::pair(int64_t{20}, 1));
  EXPECT_EQ(chosen({.branch = "main"}), std::pair(int64_t{30}, 1));
  EXPECT_EQ(chosen({.as_of_ms = 1000}).first, 10);
  EXPECT_EQ(chosen({.as_of_ms = 2499}).first, 20);
  EXPECT_EQ(chosen({.as_of_ms = 2500}).first, 10);  // a rollback
  EXPECT_EQ(chosen({.as_of_ms = 99'999}).first, 30);
}

TEST(ChooseState, ListsWhatExists) {
  TableMetadata table = Parsed(Sample());
  auto refused = [&](const SnapshotChoice& choice) {
    auto state = ChooseState(table, choice);
    EXPECT_EQ(state.status().code(), StatusCode::kNotFound);
    return state.status().message();
  };
  EXPECT_NE(refused({.snapshot = 1}).find("30, 20, 10"), std::string::npos);
  EXPECT_NE(refused({.tag = "silver"}).find("gold"), std::string::npos);
  EXPECT_NE(refused({.branch = "prod"}).find("dev, main"), std::string::npos);
  EXPECT_NE(refused({.tag = "dev"}).find("branch=\"dev\""), std::string::npos);
  EXPECT_NE(refused({.as_of_ms = 999}).find("1970-01-01T00:00:01Z"), std::string::npos);
  EXPECT_EQ(ChooseState(table, {.snapshot = 10, .tag = "gold"}).status().code(),
            StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::table::iceberg
