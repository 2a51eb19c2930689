#include "cli/store_gc.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/main.h"
#include "storage/store.h"
#include "storage/temp_name.h"
#include "support/temp_folder.h"

namespace forebay::cli {
namespace {

std::vector<storage::EvictionCandidate> ThreeChunks() {
  return {{.key = {0, 1}, .size = 100, .last_use_ns = 30},
          {.key = {0, 2}, .size = 10, .last_use_ns = 10},
          {.key = {0, 3}, .size = 1, .last_use_ns = 20}};
}

TEST(StoreGc, PlansToEvictTheLeastRecentlyUsedDownToTheQuota) {
  struct Row {
    uint64_t quota, chunks, bytes;
  };
  for (const Row& row : {Row{111, 0, 0}, Row{110, 1, 10}, Row{101, 1, 10},
                         Row{100, 2, 11}, Row{99, 3, 111}, Row{0, 3, 111}}) {
    Evictions planned = PlanEvictions(ThreeChunks(), row.quota);
    EXPECT_EQ(planned.chunks, row.chunks) << row.quota;
    EXPECT_EQ(planned.bytes, row.bytes) << row.quota;
  }
}

// A store with two drafts: one of this process, and one of a process that is gone.
class StoreGcTest : public testing::Test {
 protected:
  void SetUp() override {
    storage::StoreOptions options;
    options.tiers = storage::TiersOf(
        {{.medium = model::Medium::kSsd, .path = directory_, .quota_bytes = 0}});
    ASSERT_TRUE(storage::Store::Open(std::move(options)).ok());
    storage::TempName ours{.owner = storage::ProcessIdentity::Self(), .number = 1};
    storage::TempName dead = ours;
    dead.owner.pid = EndedProcess();
    ours_ = Write(ours, 10);
    dead_ = Write(dead, 1000);
  }

  std::string Write(const storage::TempName& name, size_t size) const {
    std::string path = directory_ + "/tmp/" + name.ToString();
    std::ofstream(path) << std::string(size, 'x');
    return path;
  }
  static pid_t EndedProcess() {
    pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
  }
  nlohmann::json Gc(std::vector<std::string> more) const {
    std::vector<std::string> words{"forebay", "store", "gc", directory_, "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    int code = Main(static_cast<int>(argv.size()), argv.data());
    std::string text = testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, 0) << text;
    return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  }

  testing_support::TempFolder folder_;
  const std::string directory_ = folder_.path();
  std::string ours_, dead_;
};

TEST_F(StoreGcTest, RemovesDraftsOfTheDeadAndLeavesThoseOfTheLiving) {
  auto foreseen = Gc({"--dry-run"});
  EXPECT_EQ(foreseen["temp_files"], 1);
  EXPECT_EQ(foreseen["temp_bytes"], 1000);
  EXPECT_TRUE(std::filesystem::exists(dead_)) << "nothing is done yet";
  auto done = Gc({});
  EXPECT_EQ(done["temp_files"], 1);
  EXPECT_EQ(done["temp_bytes"], 1000);
  EXPECT_FALSE(std::filesystem::exists(dead_));
  EXPECT_TRUE(std::filesystem::exists(ours_));
}

}  // namespace
}  // namespace forebay::cli
