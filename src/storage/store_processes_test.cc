// Several processes on one directory, killed at random instants or left to run, with no
// lock anywhere.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

constexpr int kWrong = 17;  // exit code of a child that was served wrong bytes

size_t SizeOfKey(uint64_t number) { return 10'000 + KeyOf(number).high % 190'000; }

// Reads and fills random keys; dies on the first wrong byte.
void UseStore(Store& store, uint64_t seed, uint64_t key_count, uint64_t steps) {
  std::mt19937_64 random(seed);
  for (uint64_t step = 0; step < steps; ++step) {
    uint64_t number = random() % key_count;
    std::string right = BytesOf(KeyOf(number), SizeOfKey(number));
    auto chunk = store.Get(KeyOf(number));
    if (chunk.status().code() == StatusCode::kNotFound) {
      chunk = Put(store, KeyOf(number), right);
    }
    if (!chunk.ok() || ReadAll(*chunk) != right) _exit(kWrong);
    if (random() % 50 == 0) (void)store.Remove(KeyOf(random() % key_count));
  }
}

pid_t Spawn(const std::function<void()>& body) {
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid != 0) return pid;
  body();
  _exit(0);
}

// Every file under a final name must be whole, or a kill has torn it.
void ExpectOnlyWholeChunks(const std::string& path) {
  auto store = OpenOrDie(OptionsOf({DirectoryOptions(path)}));
  EXPECT_EQ(store->Stats().quarantined, 0u);
  EXPECT_EQ(store->VerifyAll({}).corrupt, 0u);
}

class StoreProcessesTest : public testing::Test {
 protected:
  StoreOptions Options(uint64_t quota_bytes, bool durable = false) {
    TierOptions tier = DirectoryOptions(path_, quota_bytes);
    tier.durable = durable;
    return OptionsOf({tier});
  }
  TempDir dir_;
  std::string path_ = dir_ / "store";
};

TEST_F(StoreProcessesTest, LeaveNothingTornOrBehindWhenKilled) {
  constexpr int kKills = 300;
  constexpr uint64_t kQuota = 4 * kMiB;  // about half of the keys: evictions all the time
  std::mt19937_64 random(TestSeed());
  int killed_midway = 0;
  for (int round = 0; round < kKills; ++round) {
    uint64_t seed = random();
    pid_t child = Spawn([&] {
      auto store = Store::Open(Options(kQuota, round % 4 == 0));
      if (!store.ok()) _exit(kWrong);
      UseStore(**store, seed, 80, UINT64_MAX);
    });
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 15'000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
    killed_midway += !FilesUnder(path_ + "/tmp").empty();
    if (round % 20 != 19) continue;
    ExpectOnlyWholeChunks(path_);
    EXPECT_TRUE(FilesUnder(path_ + "/tmp").empty());  // opening sweeps
  }
  EXPECT_GT(killed_midway, kKills / 20);  // else nothing was tried
  ExpectOnlyWholeChunks(path_);
  EXPECT_TRUE(FilesUnder(path_ + "/tmp").empty());
  EXPECT_TRUE(FilesUnder(path_ + "/quarantine").empty());
  EXPECT_LE(BytesUnder(path_), kQuota);
}

TEST_F(StoreProcessesTest, ShareADirectoryBelowItsQuota) {
  constexpr uint64_t kQuota = 8 * kMiB;
  constexpr int kProcesses = 4;
  std::mt19937_64 random(TestSeed());
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    uint64_t seed = random();
    children.push_back(Spawn([&] {
      auto store = Store::Open(Options(kQuota));
      if (!store.ok()) _exit(kWrong);
      UseStore(**store, seed, 300, 300);
      if ((*store)->Stats().tiers[0].evictions == 0) _exit(kWrong + 1);
      if ((*store)->Stats().quarantined != 0) _exit(kWrong + 2);
    }));
  }
  uint64_t most = 0;
  for (size_t left = children.size(); left > 0;) {
    most = std::max(most, BytesUnder(path_));
    int status = 0;
    pid_t done = waitpid(-1, &status, WNOHANG);
    if (done > 0) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      --left;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // A walk is no snapshot: it may count a chunk before its eviction and its successor
  // after.
  std::printf("most bytes seen at once: %.3f of the quota\n",
              static_cast<double>(most) / kQuota);
  EXPECT_LE(most, kQuota + kQuota / 8);
  EXPECT_GT(most, kQuota / 2);
  EXPECT_LE(BytesUnder(path_), kQuota);
  ExpectOnlyWholeChunks(path_);
}

TEST_F(StoreProcessesTest, MakeOneStoreWhenTheyStartAtOnce) {
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      children.push_back(Spawn([&] {
        auto store = Store::Open(Options(0));
        if (!store.ok() || !Put(**store, 1, 100).ok()) _exit(kWrong);
        if ((*store)->Stats().unkept != 0) _exit(kWrong);
      }));
    }
    for (pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    ExpectOnlyWholeChunks(path_);
    EXPECT_EQ(FilesUnder(path_).size(), 2u);  // FORMAT and one chunk
    fs::remove_all(path_);
  }
}

}  // namespace
}  // namespace forebay::storage
