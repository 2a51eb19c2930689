// Tables that other engines wrote: all of their metadata reads, and adds up.
#include "table/iceberg/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "table/iceberg/deletion_vector.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::iceberg {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

SnapshotChoice ChoiceOf(const Json& test_case, const TableMetadata& table) {
  SnapshotChoice choice;
  if (test_case.contains("snapshot_id")) choice.snapshot = test_case["snapshot_id"];
  if (test_case.contains("as_of")) choice.as_of_ms = test_case["as_of"];
  if (test_case.contains("ref")) {
    std::string name = test_case["ref"];
    (table.refs.at(name).is_branch ? choice.branch : choice.tag) = name;
  }
  return choice;
}

// Without the row lineage columns that some expectations add.
size_t ColumnCount(const Json& schema) {
  return std::ranges::count_if(schema["fields"], [](const Json& field) {
    return field["name"] != "_row_id" && field["name"] != "_last_updated_sequence_number";
  });
}

int64_t Total(const Snapshot& snapshot, const char* key) {
  auto it = snapshot.summary.find(key);
  return it == snapshot.summary.end() ? -1 : std::stoll(it->second);
}

void ExpectTotals(const Snapshot& snapshot, const Scan& scan) {
  int64_t records = 0;
  for (const DataFile& file : scan.data) records += file.record_count;
  auto expect = [&](const char* key, int64_t got) {
    int64_t total = Total(snapshot, key);
    EXPECT_EQ(got, total < 0 ? got : total) << key;
  };
  expect("total-data-files", static_cast<int64_t>(scan.data.size()));
  expect("total-records", records);
  expect("total-delete-files", static_cast<int64_t>(scan.position_deletes.size() +
                                                    scan.deletion_vectors.size() +
                                                    scan.equality_deletes.size()));
  for (const DataFile& file : scan.data) {
    EXPECT_LE(file.sequence_number, snapshot.sequence_number) << file.path;
  }
}

class IcebergCorpus : public testing::Test {
 protected:
  void SetUp() override {
    root_ = UnpackedCorpus("iceberg");
    if (root_.empty()) GTEST_SKIP() << "the Iceberg corpus is not beside this checkout";
    root_ /= "forebay-corpus";
    auto made = Locations::Make("file://" + root_.string() + "/x",
                                {.remap = {{"/tmp/forebay-corpus", root_.string()}}});
    locations_ = made.ValueOrDie();
  }

  Result<std::string> Read(const std::string& path) const {
    return ReadLocated(locations_, path);
  }

  fs::path root_;
  Locations locations_;
};

TEST_F(IcebergCorpus, EveryCaseOfEveryTablePlansToItsOwnTotals) {
  size_t tables = 0;
  ThreadPool pool(2);
  for (const fs::path& path : FilesUnder(root_, "/expect.json")) {
    ++tables;
    Json expected = Json::parse(Slurp(path));
    SCOPED_TRACE(expected["table"].get<std::string>());
    auto text = Read(expected["metadata_location"]);
    ASSERT_TRUE(text.ok()) << text.status();
    auto table = ParseTableMetadata(*text);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->format_version,
              expected.value("format_version", table->format_version));
    for (const Json& test_case : expected["cases"]) {
      SCOPED_TRACE(test_case["name"].get<std::string>());
      auto state = ChooseState(*table, ChoiceOf(test_case, *table));
      ASSERT_TRUE(state.ok()) << state.status();
      ASSERT_NE(state->schema, nullptr);
      const Json& schema =
          test_case.contains("schema") ? test_case["schema"] : expected["schema"];
      EXPECT_EQ(state->schema->fields.size(), ColumnCount(schema));
      if (state->snapshot == nullptr) {
        EXPECT_EQ(test_case["rows"].get<int>(), 0);
        continue;
      }
      if (test_case.contains("resolved_snapshot_id")) {
        EXPECT_EQ(state->snapshot->id, test_case["resolved_snapshot_id"].get<int64_t>());
      }
      ScanOptions options;
      options.pool = &pool;
      options.read = [&](const std::string& file) { return Read(file); };
      auto scan = PlanScan(*table, *state->snapshot, options);
      ASSERT_TRUE(scan.ok()) << scan.status();
      ExpectTotals(*state->snapshot, *scan);
      int64_t records = 0;
      for (const DataFile& file : scan->data) records += file.record_count;
      bool deletes = !scan->position_deletes.empty() || !scan->deletion_vectors.empty() ||
                     !scan->equality_deletes.empty();
      auto rows = test_case["rows"].get<int64_t>();
      EXPECT_TRUE(deletes ? records >= rows : records == rows) << records << " " << rows;
      for (const DataFile& file : scan->data) {
        auto uri = locations_.Resolve(file.path);
        ASSERT_TRUE(uri.ok()) << uri.status();
        EXPECT_TRUE(fs::exists(uri->substr(7))) << *uri;
      }
    }
  }
  EXPECT_GE(tables, 88U);
}

TEST_F(IcebergCorpus, DeletionVectorsHaveTheCardinalityOfTheirManifest) {
  size_t vectors = 0;
  for (const fs::path& path : FilesUnder(root_, "/expect.json")) {
    Json expected = Json::parse(Slurp(path));
    auto table = ParseTableMetadata(*Read(expected["metadata_location"]));
    ASSERT_TRUE(table.ok());
    for (const Snapshot& snapshot : table->snapshots) {
      ScanOptions options;
      options.read = [&](const std::string& file) { return Read(file); };
      auto scan = PlanScan(*table, snapshot, options);
      ASSERT_TRUE(scan.ok()) << scan.status();
      for (const DataFile& file : scan->deletion_vectors) {
        ++vectors;
        std::string puffin = *Read(file.path);
        auto data =
            std::ranges::find(scan->data, file.referenced_data_file, &DataFile::path);
        ASSERT_NE(data, scan->data.end());
        auto positions = DecodeDeletionVector(
            std::string_view(puffin).substr(file.content_offset, file.content_size),
            data->record_count);
        ASSERT_TRUE(positions.ok()) << positions.status();
        EXPECT_EQ(static_cast<int64_t>(positions->size()), file.record_count);
        EXPECT_TRUE(std::ranges::is_sorted(*positions));
        auto blobs = ParsePuffin(puffin);
        ASSERT_TRUE(blobs.ok()) << blobs.status();
        auto blob = std::ranges::find(*blobs, file.content_offset, &PuffinBlob::offset);
        ASSERT_NE(blob, blobs->end());
        EXPECT_EQ(blob->length, file.content_size);
        EXPECT_EQ(blob->referenced_data_file, file.referenced_data_file);
        EXPECT_EQ(blob->cardinality, file.record_count);
      }
    }
  }
  EXPECT_GT(vectors, 3U);
}

}  // namespace
}  // namespace forebay::table::iceberg
