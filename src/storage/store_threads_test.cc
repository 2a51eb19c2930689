// Many threads on one store, for the sanitizers' eyes as well.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

constexpr uint64_t kKeys = 60;
constexpr size_t kChunkBytes = 20'000;

void UseStore(Store& store, uint64_t seed, std::atomic<int>* wrong) {
  std::mt19937_64 random(seed);
  for (int step = 0; step < 400; ++step) {
    uint64_t number = random() % kKeys;
    Hash128 key = KeyOf(number);
    auto chunk = store.Get(key);
    if (!chunk.ok()) chunk = Put(store, number, kChunkBytes);
    if (!chunk.ok() || ReadAll(*chunk) != BytesOf(key, kChunkBytes)) {
      ++*wrong;
      continue;
    }
    store.AddReader(key, chunk->size);
    switch (random() % 16) {
      case 0: (void)store.Promote(key); break;
      case 1: (void)store.Demote(key); break;
      case 2: (void)store.Remove(key); break;
      case 3: store.Sweep(); break;
      case 4: store.Trim(); break;
      default: (void)store.Contains(key);
    }
    store.DropReader(key);
  }
}

TEST(StoreThreads, AllSeeTheRightBytes) {
  TempDir dir;
  uint64_t seed = TestSeed();
  std::atomic<int> told{0};
  Store* raw = nullptr;
  StoreOptions options = OptionsOf({MemoryOptions(20 * kChunkBytes),
                                    DirectoryOptions(dir / "store", 30 * kChunkBytes)});
  options.on_evict = [&](const Hash128& key) {
    ++told;
    (void)raw->Contains(key);  // as documented, this does not lock up
  };
  auto store = OpenOrDie(std::move(options));
  raw = store.get();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] { UseStore(*store, seed + i, &wrong); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(told, 0);
  StoreStats stats = store->Stats();
  EXPECT_EQ(stats.quarantined, 0u);
  EXPECT_EQ(stats.mapped_evicted_bytes, 0u);
  for (const TierStats& tier : stats.tiers) {
    EXPECT_EQ(tier.reserved_bytes, 0u);
    EXPECT_LE(tier.used_bytes, tier.spec.quota_bytes);
  }
  EXPECT_LE(BytesUnder(dir / "store/chunks"), 30 * kChunkBytes);
  EXPECT_TRUE(FilesUnder(dir / "store/tmp").empty());
}

TEST(StoreThreads, VerifyAChunkOnce) {
  TempDir dir;
  ASSERT_TRUE(
      Put(*OpenOrDie(OptionsOf({DirectoryOptions(dir / "store")})), 1, 5 * kMiB).ok());
  auto store = OpenOrDie(OptionsOf({DirectoryOptions(dir / "store")}));
  std::vector<std::thread> threads;
  std::atomic<int> served{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { served += store->Get(KeyOf(1)).ok(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 8);
  EXPECT_EQ(store->Stats().verified, 1u);
}

TEST(StoreThreads, CountACorruptChunkOnce) {
  TempDir dir;
  ASSERT_TRUE(
      Put(*OpenOrDie(OptionsOf({DirectoryOptions(dir / "store")})), 1, 5 * kMiB).ok());
  std::string file = FileOf(dir / "store", KeyOf(1));
  std::string bytes = Slurp(file);
  bytes[bytes.size() / 2] ^= 1;
  Spit(file, bytes);
  auto store = OpenOrDie(OptionsOf({DirectoryOptions(dir / "store")}));
  std::vector<std::thread> threads;
  std::atomic<int> served{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { served += store->Get(KeyOf(1)).ok(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 0);
  EXPECT_EQ(store->Stats().quarantined, 1u);
}

TEST(StoreThreads, AStoreThatIsDurableServesBeforeTheDiskHasIt) {
  TempDir dir;
  TierOptions tier = DirectoryOptions(dir / "store");
  tier.durable = true;
  {
    auto store = OpenOrDie(OptionsOf({tier}));
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(Put(*store, i, 1'000'000).ok());
      EXPECT_TRUE(ReadAll(*store->Get(KeyOf(i))) == BytesOf(KeyOf(i), 1'000'000));
    }
    ASSERT_TRUE(store->Remove(KeyOf(19)).ok());
  }
  auto store = OpenOrDie(OptionsOf({tier}));
  EXPECT_TRUE(ReadAll(*store->Get(KeyOf(7))) == BytesOf(KeyOf(7), 1'000'000));
  EXPECT_FALSE(store->Get(KeyOf(19)).ok());
  EXPECT_TRUE(FilesUnder(dir / "store/tmp").empty());
}

// Another process removed the chunk, and the thread that finds out takes its time.
TEST(StoreThreads, WaitForAVerificationNoLongerThanTheirDeadline) {
  TempDir dir;
  ASSERT_TRUE(
      Put(*OpenOrDie(OptionsOf({DirectoryOptions(dir / "s")})), 1, kChunkBytes).ok());
  std::promise<void> entered, leave;
  StoreOptions options = OptionsOf({DirectoryOptions(dir / "s")});
  options.on_evict = [&, left = leave.get_future().share()](const Hash128&) {
    entered.set_value();
    left.wait();
  };
  auto store = OpenOrDie(std::move(options));
  ASSERT_TRUE(fs::remove(FileOf(dir / "s", KeyOf(1))));
  auto finder = std::async(std::launch::async, [&] { return store->Get(KeyOf(1)); });
  entered.get_future().wait();
  Status late = store->Get(KeyOf(1), Deadline::After(milliseconds(20))).status();
  EXPECT_EQ(late.code(), StatusCode::kDeadline);
  EXPECT_NE(late.message().find(KeyOf(1).ToHex()), std::string::npos) << late;
  EXPECT_EQ(store->Get(KeyOf(2), Deadline::After(milliseconds(0))).status().code(),
            StatusCode::kNotFound)
      << "of other chunks nobody waits";
  auto patient = std::async(std::launch::async, [&] {
    return store->Get(KeyOf(1), Deadline::After(std::chrono::minutes(1)));
  });
  leave.set_value();
  EXPECT_EQ(finder.get().status().code(), StatusCode::kNotFound);
  EXPECT_EQ(patient.get().status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace forebay::storage
