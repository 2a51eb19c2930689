// For tests: a store in a folder of its own, a source in memory, and tables in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cache/version.h"
#include "source/faulty_source.h"
#include "source/memory_source.h"
#include "storage/store.h"
#include "table/sample_tables.h"

namespace forebay::cache {

// Gone with its files when it ends.
class SampleFolder {
 public:
  SampleFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            (std::string("forebay-cache-") + test->test_suite_name() + "-" +
             test->name() + "-" + std::to_string(::getpid()));
    Clear();
  }
  ~SampleFolder() { Clear(); }
  SampleFolder(const SampleFolder&) = delete;
  SampleFolder& operator=(const SampleFolder&) = delete;

  void Clear() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::unique_ptr<storage::Store> OpenStore(uint64_t quota_bytes = 0) const {
    return OpenStore({}, quota_bytes);
  }
  std::unique_ptr<storage::Store> OpenStore(storage::StoreOptions options,
                                            uint64_t quota_bytes) const {
    options.tiers = storage::TiersOf(
        {{.medium = model::Medium::kSsd, .path = path_, .quota_bytes = quota_bytes}});
    return storage::Store::Open(std::move(options)).ValueOrDie();
  }

 private:
  std::string path_;
};

inline View WholeView(std::shared_ptr<const Version> version) {
  auto columns = *model::Project(version->manifest->schema(), {});
  return {std::move(version), std::move(columns)};
}

// A name of `name_bytes` letters that do not compress, and a number, in each row.
inline table::TablePtr Noise(int64_t first, int64_t rows, size_t name_bytes) {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  auto state = static_cast<uint64_t>(first) + 1;
  std::string name(name_bytes, ' ');
  for (int64_t i = first; i < first + rows; ++i) {
    for (char& letter : name) {
      state = state * 6364136223846793005 + 1442695040888963407;
      letter = static_cast<char>(' ' + (state >> 57) % 95);
    }
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE(names.Append(name).ok());
  }
  return arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()),
                                           arrow::field("name", arrow::utf8())}),
                            {*ids.Finish(), *names.Finish()});
}

}  // namespace forebay::cache
