// Metadata, tables, deletion vectors and Puffin files of other projects' own tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "table/iceberg/corpus.h"
#include "table/iceberg/deletion_vector.h"
#include "table/iceberg/manifest_list.h"
#include "table/iceberg/roaring.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::iceberg {
namespace {

namespace fs = std::filesystem;

class PublicCorpus : public testing::Test {
 protected:
  void SetUp() override {
    root_ = UnpackedCorpus("public");
    if (root_.empty()) GTEST_SKIP() << "the public corpus is not beside this checkout";
  }

  // Files of this name in every project, with at least one found.
  std::vector<fs::path> Named(const std::string& name) const {
    auto files = FilesUnder(root_, "/" + name);
    EXPECT_FALSE(files.empty()) << name;
    return files;
  }

  fs::path root_;
};

bool Contains(const std::string& text, std::initializer_list<const char*> parts) {
  return std::ranges::any_of(
      parts, [&](const char* part) { return text.find(part) != text.npos; });
}

TEST_F(PublicCorpus, ReadsValidMetadataAndRefusesInvalid) {
  size_t valid = 0;
  size_t invalid = 0;
  for (const fs::path& path : FilesUnder(root_, ".json")) {
    std::string name = path.filename().string();
    bool table = name.starts_with("TableMetadata") ||
                 Contains(name, {"example_table_metadata", "example_empty_table"});
    bool other = Contains(name, {"ViewMetadata", "view-metadata", "udf-metadata",
                                 "_report", "_response", "avro_schema_"});
    if (!table && !other) continue;
    bool bad = other || Contains(name, {"Missing", "NotFound", "Unsupported", "NoValid",
                                        "Encryption"});
    auto parsed = ParseTableMetadata(Slurp(path));
    EXPECT_EQ(parsed.ok(), !bad) << path << " " << parsed.status();
    ++(bad ? invalid : valid);
    if (Contains(name, {"Encryption"})) {
      EXPECT_EQ(parsed.status().code(), StatusCode::kUnsupported) << path;
    }
    EXPECT_TRUE(!parsed.ok() || ChooseState(*parsed, {}).ok()) << path;
  }
  EXPECT_GE(valid, 20U);
  EXPECT_GE(invalid, 20U);
}

TEST_F(PublicCorpus, PlansEveryDuckdbTable) {
  fs::path project = root_ / "duckdb-iceberg";
  size_t planned = 0;
  for (const fs::path& path : FilesUnder(project, "metadata.json")) {
    SCOPED_TRACE(path.string());
    auto table = ParseTableMetadata(Slurp(path));
    if (Contains(path.string(), {"/bad_data/", "/big_query_error/metadata/v0."})) {
      EXPECT_FALSE(table.ok());
      continue;
    }
    ASSERT_TRUE(table.ok()) << table.status();
    fs::path folder = path.parent_path().parent_path();
    LocationOptions options;
    options.remap[table->location] = folder.string();
    options.remap["data/"] = (project / "data").string();
    options.remap[""] = folder.parent_path().string();
    auto locations = Locations::Make(path.string(), options).ValueOrDie();
    for (const Snapshot& snapshot : table->snapshots) {
      ScanOptions scan_options;
      scan_options.read = [&](const std::string& file) {
        return ReadLocated(locations, file);
      };
      auto scan = PlanScan(*table, snapshot, scan_options);
      if (scan.status().code() == StatusCode::kNotFound) continue;  // not all are kept
      EXPECT_TRUE(scan.ok()) << scan.status();
      ++planned;
    }
  }
  EXPECT_GE(planned, 20U);
}

TEST_F(PublicCorpus, ReadsEveryDeletionVector) {
  const std::pair<const char*, size_t> kVectors[] = {
      {"empty-position-index.bin", 0},
      {"small-alternating-values-position-index.bin", 5},
      {"small-and-large-values-position-index.bin", 4},
      {"all-container-types-position-index.bin", 0},
      {"deletion-vector-v1-payload.bin", 5},
  };
  for (const auto& [name, count] : kVectors) {
    for (const fs::path& path : Named(name)) {
      auto positions = DecodeDeletionVector(Slurp(path), uint64_t{1} << 62);
      ASSERT_TRUE(positions.ok()) << path << positions.status();
      EXPECT_TRUE(std::ranges::is_sorted(*positions));
      if (std::string_view(name).starts_with("all")) {
        EXPECT_GT(positions->size(), 4096U);
      } else {
        EXPECT_EQ(positions->size(), count) << path;
      }
    }
  }
}

TEST_F(PublicCorpus, ReadsBitmapsOfOtherLibraries) {
  for (const char* name :
       {"64map32bitvals.bin", "64mapempty.bin", "64mapspreadvals.bin"}) {
    for (const fs::path& path : Named(name)) {
      auto positions = DecodeRoaring64(Slurp(path), uint64_t{1} << 63);
      EXPECT_TRUE(positions.ok()) << path << positions.status();
    }
  }
  // Its positions have the sign bit set.
  for (const fs::path& path : Named("64maphighvals.bin")) {
    EXPECT_EQ(DecodeRoaring64(Slurp(path), UINT64_MAX).status().code(),
              StatusCode::kCorrupt);
  }
}

TEST_F(PublicCorpus, ReadsEveryPuffinFile) {
  const std::pair<const char*, size_t> kFiles[] = {
      {"empty-puffin-uncompressed.bin", 0},
      {"sample-metric-data-uncompressed.bin", 2},
      {"sample-metric-data-compressed-zstd.bin", 2},
      {"deletion-vector-v1.puffin", 1},
      {"single-blob-dv.puffin", 1},
  };
  for (const auto& [name, count] : kFiles) {
    for (const fs::path& path : Named(name)) {
      auto blobs = ParsePuffin(Slurp(path));
      ASSERT_TRUE(blobs.ok()) << path << blobs.status();
      EXPECT_EQ(blobs->size(), count) << path;
    }
  }
  for (const fs::path& path : FilesUnder(root_, "-dv.puffin")) {
    std::string file = Slurp(path);
    auto blobs = ParsePuffin(file);
    ASSERT_TRUE(blobs.ok()) << path << blobs.status();
    for (const PuffinBlob& blob : *blobs) {
      auto positions =
          DecodeDeletionVector(file.substr(blob.offset, blob.length), uint64_t{1} << 62);
      ASSERT_TRUE(positions.ok()) << positions.status();
      EXPECT_EQ(static_cast<int64_t>(positions->size()), blob.cardinality);
    }
  }
}

TEST_F(PublicCorpus, RefusesAnEncryptedManifestList) {
  for (const fs::path& path : Named("manifest-list-v3-encrypted.avro")) {
    EXPECT_EQ(ParseManifestList(Slurp(path)).status().code(), StatusCode::kCorrupt);
  }
  for (const fs::path& path : Named("manifest-list-v2-1.avro")) {
    EXPECT_TRUE(ParseManifestList(Slurp(path)).ok());
  }
}

}  // namespace
}  // namespace forebay::table::iceberg
