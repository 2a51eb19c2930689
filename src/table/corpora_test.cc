// Hostile and gold files of other projects, and our own set of broken ones.
#include <arrow/util/thread_pool.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/size.h"
#include "table/capped_memory_pool.h"
#include "table/files/decode_error.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCapBytes = 512 * kMiB;
constexpr auto kTimeout = milliseconds(20'000);

std::string Slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// The unpacked corpora, or an empty path where they are not beside this checkout.
fs::path Corpora() {
  fs::path archive = fs::path(FOREBAY_ROOT) / "../shared/corpora/public.tar.zst";
  if (!fs::exists(archive)) return {};
  fs::path folder = fs::path(FOREBAY_BIN_DIR) / "corpora";
  fs::path done = folder / "unpacked";
  if (!fs::exists(done)) {
    fs::create_directories(folder);
    std::string command =
        fmt::format("tar --zstd -xf '{}' -C '{}'", archive.lexically_normal().string(),
                    folder.string());
    if (std::system(command.c_str()) != 0) return {};
    std::ofstream(done) << "yes\n";
  }
  return folder;
}

// What a corpus file is, by where it lies and how it is called; empty: not ours.
std::string ExtensionOf(const fs::path& path) {
  std::string text = path.string();
  auto has = [&](const char* part) { return text.find(part) != text.npos; };
  if (has(".md") || has(".json") || has(".csv") || has(".txt") || has("bloom_filter.b")) {
    return "";
  }
  if (has("/arrow-ipc-tensor-stream/") || has("/avro/") || has("/csv/")) return "";
  if (has(".stream") || has("ipc-stream-fuzz")) return ".arrows";
  if (has(".arrow_file") || has("ipc-file-fuzz") || has(".arrow")) return ".arrow";
  if (has("parquet") && (has(".parquet") || has("fuzz"))) return ".parquet";
  if (has(".orc")) return ".orc";
  return "";
}

struct Outcome {
  Status status;
  int64_t rows = -1;
};

Outcome ReadOurs(const std::string& name, const std::string& bytes) {
  CappedMemoryPool cap(kCapBytes);
  Sample sample;
  sample.plan.memory_pool = &cap;
  sample.decode.memory_pool = &cap;
  sample.plan.deadline = Deadline::After(kTimeout);
  sample.decode.deadline = sample.plan.deadline;
  sample.Put(name, bytes);
  auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  {
    auto table = sample.Read();
    outcome.status = table.status();
    if (table.ok()) outcome.rows = (*table)->num_rows();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2 * kTimeout) << name;
  EXPECT_LE(cap.max_memory(), kCapBytes);
  EXPECT_EQ(cap.bytes_allocated(), 0) << name;
  if (!outcome.status.ok()) {
    bool names_it = outcome.status.message().find(name) != std::string::npos ||
                    outcome.status.code() == StatusCode::kUnsupported;
    EXPECT_TRUE(names_it) << name << ": " << outcome.status;
    EXPECT_NE(outcome.status.code(), StatusCode::kInternal) << name << outcome.status;
  }
  return outcome;
}

arrow::Result<TablePtr> ReadArrowTable(const std::string& extension,
                                       const std::string& bytes) {
  auto file = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes));
  if (extension == ".parquet") {
    ARROW_ASSIGN_OR_RAISE(auto reader,
                          parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
    return reader->ReadTable();
  }
  if (extension == ".arrows") {
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(file));
    return reader->ToTable();
  }
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(file));
  return reader->ToTable();
}

// Arrow's own row count for files it reads and finds valid; -1 for others.
int64_t RowsByArrow(const std::string& extension, const std::string& bytes) {
  auto table = Guard([&] { return ReadArrowTable(extension, bytes); });
  if (!table.ok() || !(*table)->ValidateFull().ok()) return -1;
  return (*table)->num_rows();
}

std::vector<fs::path> FilesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

TEST(Corpora, EveryBrokenTableOfOursIsANamedError) {
  auto files = FilesBelow(fs::path(FOREBAY_ROOT) / "tests/data/bad_tables");
  ASSERT_GT(files.size(), 30u);
  for (const fs::path& path : files) {
    Outcome outcome = ReadOurs(path.filename().string(), Slurp(path));
    EXPECT_FALSE(outcome.status.ok()) << path;
    EXPECT_NE(outcome.status.message().find(path.filename().string()), std::string::npos)
        << outcome.status;
  }
}

TEST(Corpora, HostileFilesNeitherCrashNorHang) {
  fs::path corpora = Corpora();
  if (corpora.empty()) GTEST_SKIP() << "the public corpora are not beside this checkout";
  int count = 0;
  for (const char* folder :
       {"parquet-testing/bad_data", "arrow-testing/data/parquet/fuzzing",
        "arrow-testing/data/parquet/encoding-fuzzing",
        "arrow-testing/data/arrow-ipc-file", "arrow-testing/data/arrow-ipc-stream"}) {
    for (const fs::path& path : FilesBelow(corpora / folder)) {
      std::string extension = ExtensionOf(path);
      if (extension.empty() || path.string().find("/integration/") != std::string::npos) {
        continue;
      }
      (void)ReadOurs(path.filename().string() + extension, Slurp(path));
      ++count;
    }
  }
  EXPECT_GT(count, 200);
}

// Fuzzed files that Arrow happens to read, and one that decodes to 2 GiB.
bool IsLeftOut(const fs::path& path) {
  std::string text = path.string();
  return text.find("fuzz") != text.npos || text.find("large_string_map") != text.npos;
}

// Files that Arrow reads and Forebay declines, with a reason.
bool IsDeclined(const Status& status) {
  return status.code() == StatusCode::kUnsupported ||
         status.message().find("is there twice") != std::string::npos ||
         status.message().find("CRC checksum") != std::string::npos;
}

TEST(Corpora, ValidFilesHaveArrowsRowCount) {
  fs::path corpora = Corpora();
  if (corpora.empty()) GTEST_SKIP() << "the public corpora are not beside this checkout";
  int same = 0, declined = 0;
  for (const char* folder : {"parquet-testing/data", "parquet-testing/shredded_variant",
                             "arrow-testing/data"}) {
    for (const fs::path& path : FilesBelow(corpora / folder)) {
      std::string extension = ExtensionOf(path);
      if (extension.empty() || extension == ".orc" || IsLeftOut(path)) continue;
      std::string bytes = Slurp(path);
      int64_t rows = RowsByArrow(extension, bytes);
      if (rows < 0) continue;
      Outcome ours = ReadOurs(path.filename().string() + extension, bytes);
      if (!ours.status.ok() && IsDeclined(ours.status)) {
        std::cout << "declined " << path.filename() << ": " << ours.status << "\n";
        ++declined;
        continue;
      }
      EXPECT_TRUE(ours.status.ok()) << path << " " << ours.status;
      EXPECT_EQ(ours.rows, rows) << path;
      ++same;
    }
  }
  std::cout << same << " files with the same rows, " << declined << " declined\n";
  EXPECT_GT(same, 300);
}

}  // namespace
}  // namespace forebay::table
