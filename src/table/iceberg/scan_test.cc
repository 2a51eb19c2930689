#include "table/iceberg/scan.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "table/avro/sample_avro.h"

namespace forebay::table::iceberg {
namespace {

using avro::SampleEncoder;
using avro::SampleFile;

constexpr const char* kListSchema = R"({"type": "record", "name": "m", "fields": [
    {"name": "manifest_path", "type": "string"}, {"name": "manifest_length", "type": "long"},
    {"name": "partition_spec_id", "type": "int"}, {"name": "content", "type": "int"},
    {"name": "sequence_number", "type": "long"},
    {"name": "added_files_count", "type": "int"},
    {"name": "existing_files_count", "type": "int"},
    {"name": "key_metadata", "type": "bytes"}]})";
constexpr const char* kEntrySchema = R"({"type": "record", "name": "e", "fields": [
    {"name": "status", "type": "int"}, {"name": "data_file", "type": {"type": "record",
      "name": "f", "fields": [{"name": "content", "type": "int"},
      {"name": "file_path", "type": "string"}, {"name": "file_format", "type": "string"},
      {"name": "record_count", "type": "long"},
      {"name": "file_size_in_bytes", "type": "long"},
      {"name": "equality_ids", "type": {"type": "array", "items": "int"}}]}}]})";

struct Listed {
  std::string path;
  std::vector<std::string> files{};
  int content = 0;  // of its files
  std::string key{};
};

// A table in memory, and what was read of it.
class MemoryTable {
 public:
  explicit MemoryTable(const std::vector<Listed>& manifests) {
    table_.format_version = 2;
    table_.schemas.emplace_back();
    table_.specs.emplace_back();
    snapshot_.manifest_list = "list";
    SampleFile list{.schema = kListSchema};
    SampleEncoder rows;
    for (const Listed& listed : manifests) {
      std::string bytes = Manifest(listed);
      auto count = static_cast<int64_t>(listed.files.size());
      rows.Bytes(listed.path).Long(static_cast<int64_t>(bytes.size())).Long(0);
      rows.Long(listed.content == 0 ? 0 : 1)
          .Long(1)
          .Long(count)
          .Long(0)
          .Bytes(listed.key);
      files_[listed.path] = bytes;
    }
    list.blocks.push_back({static_cast<int64_t>(manifests.size()), rows.bytes()});
    files_["list"] = list.Write();
  }

  Result<Scan> Plan(const FileFilter* filter = nullptr, ThreadPool* pool = nullptr) {
    ScanOptions options;
    options.filter = filter;
    options.pool = pool;
    options.read = [this](const std::string& path) -> Result<std::string> {
      std::lock_guard lock(mutex_);
      ++reads_[path];
      auto it = files_.find(path);
      if (it == files_.end()) return Status::NotFound("no such file: " + path);
      return it->second;
    };
    return PlanScan(table_, snapshot_, options);
  }

  std::map<std::string, std::string> files_;
  std::map<std::string, int> reads_;

 private:
  static std::string Manifest(const Listed& listed) {
    SampleFile file{.schema = kEntrySchema};
    SampleEncoder rows;
    for (const std::string& path : listed.files) {
      rows.Long(1).Long(listed.content).Bytes(path).Bytes("ORC").Long(10).Long(99);
      rows.Long(1).Long(1).Long(0);
    }
    file.blocks.push_back({static_cast<int64_t>(listed.files.size()), rows.bytes()});
    return file.Write();
  }

  std::mutex mutex_;
  TableMetadata table_;
  Snapshot snapshot_;
};

TEST(PlanScan, KeepsTheOrderOfManifestsWithAnyNumberOfThreads) {
  std::vector<Listed> manifests;
  std::vector<std::string> expected;
  for (int m = 0; m < 50; ++m) {
    Listed& listed = manifests.emplace_back();
    listed.path = "m" + std::to_string(m);
    for (int i = 0; i < m % 4; ++i) {
      listed.files.push_back(listed.path + "/" + std::to_string(i));
      expected.push_back(listed.files.back());
    }
  }
  ThreadPool threads(3);
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &threads}) {
    MemoryTable table(manifests);
    auto scan = table.Plan(nullptr, pool);
    ASSERT_TRUE(scan.ok()) << scan.status();
    ASSERT_EQ(scan->data.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(scan->data[i].path, expected[i]);
      const ManifestFile& manifest = scan->manifests[scan->manifest_of[i]];
      EXPECT_TRUE(expected[i].starts_with(manifest.path + "/"));
    }
    // One without live files is not read.
    EXPECT_EQ(table.reads_.count("m0"), 0U);
    EXPECT_EQ(table.reads_["m1"], 1);
  }
}

TEST(PlanScan, SortsDeletesByTheirKind) {
  MemoryTable table(std::vector<Listed>{{.path = "d", .files = {"a"}},
                                        {.path = "p", .files = {"pos"}, .content = 1},
                                        {.path = "e", .files = {"eq"}, .content = 2}});
  auto scan = table.Plan();
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_EQ(scan->position_deletes.at(0).path, "pos");
  EXPECT_EQ(scan->equality_deletes.at(0).path, "eq");
  EXPECT_EQ(scan->equality_deletes.at(0).equality_ids, std::vector<int32_t>{1});
  EXPECT_EQ(scan->manifests.size(), 1U);
}

TEST(PlanScan, NamesTheFileThatMakesNoSense) {
  MemoryTable twice(std::vector<Listed>{{.path = "m1", .files = {"a"}},
                                        {.path = "m2", .files = {"a"}}});
  auto scan = twice.Plan();
  EXPECT_EQ(scan.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(scan.status().message().find("file=a"), std::string::npos);

  MemoryTable damaged(std::vector<Listed>{{.path = "m1", .files = {"a"}}});
  damaged.files_["m1"].resize(damaged.files_["m1"].size() - 1);
  EXPECT_NE(damaged.Plan().status().message().find("manifest m1"), std::string::npos);
  damaged.files_.erase("m1");
  EXPECT_EQ(damaged.Plan().status().code(), StatusCode::kNotFound);
  damaged.files_["list"] = "nonsense";
  EXPECT_NE(damaged.Plan().status().message().find("manifest list list"),
            std::string::npos);

  MemoryTable encrypted(std::vector<Listed>{{.path = "m1", .files = {"a"}, .key = "k"}});
  EXPECT_EQ(encrypted.Plan().status().code(), StatusCode::kUnsupported);
}

class ByPath : public FileFilter {
 public:
  bool MayMatch(const ManifestFile& manifest) const override {
    return manifest.path != "skipped";
  }
  bool PartitionMayMatch(const DataFile& file) const override {
    return !file.path.ends_with("!");
  }
  bool MayMatch(const DataFile& file) const override {
    return PartitionMayMatch(file) && !file.path.ends_with("?");
  }
  bool MustMatch(const DataFile&) const override { return false; }
};

TEST(PlanScan, LeavesOutWhatTheFilterRulesOut) {
  MemoryTable table(std::vector<Listed>{{.path = "skipped", .files = {"x"}},
                                        {.path = "m", .files = {"a", "b?", "c"}},
                                        {.path = "p", .files = {"pos?"}, .content = 1}});
  ByPath filter;
  auto scan = table.Plan(&filter);
  ASSERT_TRUE(scan.ok()) << scan.status();
  ASSERT_EQ(scan->data.size(), 2U);
  EXPECT_EQ(scan->data[1].path, "c");
  EXPECT_EQ(scan->manifests_skipped, 1U);
  EXPECT_EQ(scan->files_skipped, 1U);
  // Metrics say nothing of deletes' data files: partitions alone rule them out.
  EXPECT_EQ(scan->position_deletes.size(), 1U);
  EXPECT_EQ(table.reads_.count("skipped"), 0U);
}

}  // namespace
}  // namespace forebay::table::iceberg
