// Quotas, watermarks, floors, eviction and moves between tiers.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kChunkBytes = 1000;
constexpr uint64_t kQuota = 10 * kChunkBytes;

class StoreRoomTest : public testing::TestWithParam<bool> {
 protected:
  TierOptions Tier() {
    TierOptions tier =
        GetParam() ? MemoryOptions(kQuota) : DirectoryOptions(path_, kQuota);
    tier.high_watermark = 1.0;
    tier.low_watermark = 0.8;
    return tier;
  }
  std::unique_ptr<Store> OpenStore() {
    StoreOptions options = OptionsOf({Tier()}, &clock_);
    options.on_evict = [this](const Hash128& key) { evicted_.push_back(key); };
    return OpenOrDie(std::move(options));
  }
  void Fill(Store& store, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      clock_.Advance(seconds(1));
      ASSERT_TRUE(Put(store, i, kChunkBytes).ok());
    }
  }
  std::vector<uint64_t> Held(Store& store, uint64_t count) {
    std::vector<uint64_t> held;
    for (uint64_t i = 0; i < count; ++i) {
      if (store.Contains(KeyOf(i))) held.push_back(i);
    }
    return held;
  }

  TempDir dir_;
  std::string path_ = dir_ / "store";
  FakeClock clock_;
  std::vector<Hash128> evicted_;
};

TEST_P(StoreRoomTest, EvictsTheLeastRecentlyUsedDownToTheLowWatermark) {
  auto store = OpenStore();
  Fill(*store, 0, 10);
  EXPECT_EQ(store->Stats().tiers[0].evictions, 0u);  // full, but not above
  clock_.Advance(seconds(1));
  ASSERT_TRUE(store->Get(KeyOf(0)).ok());
  Fill(*store, 10, 1);
  EXPECT_EQ(Held(*store, 11), (std::vector<uint64_t>{0, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(evicted_, (std::vector<Hash128>{KeyOf(1), KeyOf(2), KeyOf(3)}));
  TierStats stats = store->Stats().tiers[0];
  EXPECT_EQ(stats.evictions, 3u);
  EXPECT_EQ(stats.used_bytes, 8 * kChunkBytes);
}

TEST_P(StoreRoomTest, EvictsByItsPolicy) {
  struct NewestFirst : EvictionPolicy {
    void Order(std::vector<EvictionCandidate>& candidates) const override {
      std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
        return a.last_use_ns > b.last_use_ns;
      });
    }
  };
  StoreOptions options = OptionsOf({Tier()}, &clock_);
  options.policy = std::make_unique<NewestFirst>();
  auto store = OpenOrDie(std::move(options));
  Fill(*store, 0, 11);
  EXPECT_EQ(Held(*store, 11), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 10}));
}

TEST_P(StoreRoomTest, ServesAMappedChunkAfterEvictionAndCountsIt) {
  auto store = OpenStore();
  Fill(*store, 0, 10);
  Chunk chunk = *store->Get(KeyOf(3));
  void* mapped = mmap(nullptr, chunk.size, PROT_READ, MAP_SHARED, chunk.fd->get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  store->AddReader(chunk);
  ASSERT_TRUE(store->Remove(KeyOf(3)).ok());
  EXPECT_FALSE(store->Get(KeyOf(3)).ok());
  EXPECT_TRUE(ReadAll(chunk) == BytesOf(chunk.key, kChunkBytes));
  EXPECT_EQ(std::memcmp(mapped, BytesOf(chunk.key, kChunkBytes).data(), kChunkBytes), 0);
  EXPECT_EQ(store->Stats().mapped_evicted_bytes, kChunkBytes);
  Fill(*store, 10, 1);  // 9 chunks, one mapped, one more: above the quota
  EXPECT_GT(store->Stats().tiers[0].evictions, 0u);
  store->DropReader(chunk.key);
  EXPECT_EQ(store->Stats().mapped_evicted_bytes, 0u);
  munmap(mapped, chunk.size);
}

TEST_P(StoreRoomTest, EvictsMappedChunksLast) {
  auto store = OpenStore();
  Fill(*store, 0, 10);
  store->AddReader(KeyOf(0), kChunkBytes);
  store->AddReader(KeyOf(1), kChunkBytes);
  Fill(*store, 10, 1);
  EXPECT_EQ(Held(*store, 11), (std::vector<uint64_t>{0, 1, 5, 6, 7, 8, 9, 10}));
}

TEST_P(StoreRoomTest, AsksReadersToLetGoWhenAllIsMapped) {
  auto store = OpenStore();
  Fill(*store, 0, 10);
  for (int i = 0; i < 10; ++i) store->AddReader(KeyOf(i), kChunkBytes);
  auto first = Put(*store, 10, kChunkBytes);
  ASSERT_TRUE(first.ok());  // served through memory: nothing could be freed yet
  EXPECT_TRUE(first->borrowed);
  EXPECT_EQ(store->Stats().unkept, 1u);
  EXPECT_EQ(evicted_, std::vector<Hash128>{KeyOf(0)});
  EXPECT_EQ(store->Stats().tiers[0].mapped_evicted_bytes, kChunkBytes);
  store->DropReader(KeyOf(0));
  ASSERT_TRUE(Put(*store, 10, kChunkBytes).ok());
  EXPECT_EQ(store->Stats().unkept, 1u);
  EXPECT_TRUE(store->Contains(KeyOf(10)));
}

TEST_P(StoreRoomTest, CountsDraftsAgainstTheQuota) {
  auto store = OpenStore();
  Fill(*store, 0, 5);
  auto writer = store->Create(KeyOf(100), model::ChunkKind::kTable, 6 * kChunkBytes);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(Held(*store, 5), (std::vector<uint64_t>{3, 4}));
}

TEST_P(StoreRoomTest, MakesRoomForAChunkThatOutgrowsItsEstimate) {
  auto store = OpenStore();
  Fill(*store, 0, 9);
  std::string bytes = BytesOf(KeyOf(100), 5 * kChunkBytes);
  auto writer = store->Create(KeyOf(100), model::ChunkKind::kTable, 0);
  ASSERT_TRUE((*writer)->Append(bytes.data(), bytes.size()).ok());
  ASSERT_TRUE((*writer)->Commit().ok());
  TierStats stats = store->Stats().tiers[0];
  EXPECT_LE(stats.used_bytes, kQuota);
  EXPECT_EQ(stats.reserved_bytes, 0u);
  EXPECT_TRUE(store->Contains(KeyOf(100)));
  EXPECT_TRUE(ReadAll(*store->Get(KeyOf(100))) == bytes);
}

TEST_P(StoreRoomTest, ServesAChunkLargerThanTheTierFromMemory) {
  auto store = OpenStore();
  Fill(*store, 0, 5);
  for (size_t estimate : {size_t{0}, 2 * kQuota}) {
    std::string bytes = BytesOf(KeyOf(100), 2 * kQuota);
    auto writer = store->Create(KeyOf(100), model::ChunkKind::kTable, estimate);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Append(bytes.data(), 10).ok());
    ASSERT_TRUE((*writer)->Append(bytes.data() + 10, bytes.size() - 10).ok());
    auto chunk = (*writer)->Commit();
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_TRUE(ReadAll(*chunk) == bytes);
  }
  EXPECT_EQ(store->Stats().unkept, 2u);
  EXPECT_EQ(Held(*store, 5).size(), 5u);  // nothing was evicted in vain
  EXPECT_EQ(store->Stats().tiers[0].reserved_bytes, 0u);
  EXPECT_EQ(store->Stats().tiers[0].write_status.code(), StatusCode::kFull);
}

INSTANTIATE_TEST_SUITE_P(Tiers, StoreRoomTest, testing::Bool(), [](const auto& info) {
  return info.param ? "memory" : "directory";
});

TEST(MemoryStore, HoldsNoMoreChunksThanThereAreDescriptorsFor) {
  DescriptorLimit lower(128);  // 64 of them for chunks
  FakeClock clock;
  auto store = OpenOrDie(OptionsOf({MemoryOptions(kGiB)}, &clock));
  for (uint64_t i = 0; i < 64; ++i) {
    clock.Advance(seconds(1));
    ASSERT_TRUE(Put(*store, i, kChunkBytes).ok());
  }
  EXPECT_EQ(store->Stats().tiers[0].evictions, 0u);
  ASSERT_TRUE(Put(*store, 64, kChunkBytes).ok());
  TierStats stats = store->Stats().tiers[0];
  EXPECT_LE(stats.chunk_count, 64u);
  EXPECT_GE(stats.chunk_count, 50u) << "room is made in steps, but not all at once";
  EXPECT_FALSE(store->Contains(KeyOf(0)));
  EXPECT_TRUE(store->Contains(KeyOf(64)));
}

TEST(MemoryStore, IsTightFromNineTenthsOn) {
  auto store = OpenOrDie(OptionsOf({MemoryOptions(kQuota)}));
  for (uint64_t i = 0; i < 9; ++i) ASSERT_TRUE(Put(*store, i, kChunkBytes).ok());
  EXPECT_FALSE(store->tight());
  ASSERT_TRUE(Put(*store, 9, 1).ok());
  EXPECT_TRUE(store->tight());
}

class StoreDirectoriesTest : public testing::Test {
 protected:
  TierOptions Slow(uint64_t quota = 0) { return DirectoryOptions(dir_ / "slow", quota); }
  TempDir dir_;
  FakeClock clock_;
};

TEST_F(StoreDirectoriesTest, TrimToASmallerQuota) {
  {
    auto store = OpenOrDie(OptionsOf({Slow()}, &clock_));
    for (int i = 0; i < 20; ++i) {
      clock_.Advance(seconds(1));
      ASSERT_TRUE(Put(*store, i, kChunkBytes).ok());
    }
  }
  auto store = OpenOrDie(OptionsOf({Slow(kQuota)}, &clock_));
  EXPECT_EQ(store->Trim(), 11u);  // to 0.9 of the quota
  EXPECT_FALSE(store->Contains(KeyOf(10)));
  EXPECT_TRUE(store->Contains(KeyOf(11)));  // age is known across boots
  EXPECT_EQ(BytesUnder(dir_ / "slow/chunks"), 9 * kChunkBytes);
}

TEST_F(StoreDirectoriesTest, KnowWhatOtherProcessesUse) {
  auto ours = OpenOrDie(OptionsOf({Slow(kQuota)}, &clock_));
  for (int i = 0; i < 9; ++i) {
    clock_.Advance(seconds(1));
    ASSERT_TRUE(Put(*ours, i, kChunkBytes).ok());
  }
  auto theirs = OpenOrDie(OptionsOf({Slow(kQuota)}, &clock_));
  clock_.Advance(minutes(2));
  ASSERT_TRUE(theirs->Get(KeyOf(0)).ok());  // our oldest is their newest
  ASSERT_TRUE(Put(*ours, 9, kChunkBytes).ok());
  ASSERT_TRUE(Put(*ours, 10, kChunkBytes).ok());
  EXPECT_TRUE(ours->Contains(KeyOf(0)));
  EXPECT_FALSE(ours->Contains(KeyOf(1)));
}

TEST_F(StoreDirectoriesTest, LeaveRoomForDraftsOfOtherProcesses) {
  auto ours = OpenOrDie(OptionsOf({Slow(kQuota)}, &clock_));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Put(*ours, i, kChunkBytes).ok());
  auto theirs = OpenOrDie(OptionsOf({Slow(kQuota)}, &clock_));
  auto writer = theirs->Create(KeyOf(50), model::ChunkKind::kTable, 4 * kChunkBytes);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(Put(*ours, 6, 2 * kChunkBytes).ok());
  EXPECT_LE(BytesUnder(dir_ / "slow/chunks"), 6 * kChunkBytes);
}

TEST_F(StoreDirectoriesTest, KeepTheFloorFree) {
  struct statvfs info;
  ASSERT_EQ(statvfs(dir_.path().c_str(), &info), 0);
  uint64_t free = info.f_bavail * info.f_frsize;
  TierOptions tier = Slow();
  auto store = OpenOrDie(OptionsOf({tier}, &clock_));
  ASSERT_TRUE(Put(*store, 1, kChunkBytes).ok());
  store.reset();
  tier.free_floor_bytes = free + kGiB;  // cannot be reached by evicting what there is
  store = OpenOrDie(OptionsOf({tier}, &clock_));
  ASSERT_TRUE(Put(*store, 2, kChunkBytes).ok());
  EXPECT_EQ(store->Stats().unkept, 1u);
  EXPECT_TRUE(store->Contains(KeyOf(1)));
  EXPECT_EQ(store->Stats().tiers[0].write_status.code(), StatusCode::kFull);
}

uint64_t FreeBytes(const std::string& path) {
  struct statvfs info;
  EXPECT_EQ(statvfs(path.c_str(), &info), 0);
  return info.f_bavail * info.f_frsize;
}

// Others write to the disk of the tests meanwhile.
constexpr double kDiskSlack = 512.0 * kMiB;

TEST_F(StoreDirectoriesTest, WithoutAQuotaCanHoldWhatTheDiskHasFreeAboveTheFloor) {
  TierOptions tier = Slow();
  tier.free_floor_bytes = FreeBytes(dir_.path()) / 2;
  auto store = OpenOrDie(OptionsOf({tier}, &clock_));
  auto expected = static_cast<double>(FreeBytes(dir_.path()) - *tier.free_floor_bytes);
  EXPECT_NEAR(static_cast<double>(store->CapacityBytes()), expected, kDiskSlack);
  TierStats stats = store->Stats().tiers[0];
  EXPECT_NEAR(static_cast<double>(stats.capacity_bytes), expected, kDiskSlack);
  EXPECT_EQ(stats.spec.quota_bytes, 0u);
}

TEST_F(StoreDirectoriesTest, OnAFullDiskCanHoldWhatTheyHold) {
  ASSERT_TRUE(Put(*OpenOrDie(OptionsOf({Slow()}, &clock_)), 1, kChunkBytes).ok());
  TierOptions tier = Slow();
  tier.free_floor_bytes = FreeBytes(dir_.path()) * 2;
  auto store = OpenOrDie(OptionsOf({tier}, &clock_));
  EXPECT_EQ(store->CapacityBytes(), kChunkBytes);
  EXPECT_EQ(store->MappableBytes(), kChunkBytes);
  Chunk chunk = *store->Get(KeyOf(1));
  store->AddReader(chunk);
  ASSERT_TRUE(store->Remove(KeyOf(1)).ok());
  EXPECT_EQ(store->CapacityBytes(), kChunkBytes) << "a reader still has the room";
}

TEST_F(StoreDirectoriesTest, WithAQuotaCanHoldNoMoreThanThat) {
  auto store = OpenOrDie(OptionsOf({Slow(kQuota)}, &clock_));
  EXPECT_EQ(store->CapacityBytes(), kQuota);
  TierOptions tier = DirectoryOptions(dir_ / "other", kQuota);
  tier.free_floor_bytes = FreeBytes(dir_.path()) * 2;
  EXPECT_EQ(OpenOrDie(OptionsOf({tier}, &clock_))->CapacityBytes(), 0u)
      << "a quota makes no room on a full disk";
}

TEST_F(StoreDirectoriesTest, WithAShareHaveThatOfTheFreeRoomAsQuota) {
  TierOptions tier = Slow();
  tier.spec.quota_percent = 25;
  auto store = OpenOrDie(OptionsOf({tier}, &clock_));
  double quarter = static_cast<double>(FreeBytes(dir_.path())) / 4;
  TierStats stats = store->Stats().tiers[0];
  EXPECT_NEAR(static_cast<double>(stats.spec.quota_bytes), quarter, kDiskSlack);
  EXPECT_EQ(stats.capacity_bytes, stats.spec.quota_bytes);
}

TEST_F(StoreDirectoriesTest, WithAShareOfAFullDiskCanBeUsedOnceItIsNot) {
  TierOptions tier = Slow();
  tier.spec.quota_percent = 50;
  tier.free_floor_bytes = FreeBytes(dir_.path()) * 2;
  auto store = OpenOrDie(OptionsOf({tier}, &clock_));
  EXPECT_EQ(store->Stats().tiers[0].spec.quota_bytes, 64 * kMiB);
  EXPECT_EQ(store->CapacityBytes(), 0u);
}

class TieredStoreTest : public StoreDirectoriesTest {
 protected:
  std::unique_ptr<Store> OpenTiered(uint64_t slow_quota = 0) {
    StoreOptions options = OptionsOf({MemoryOptions(kQuota), Slow(slow_quota)}, &clock_);
    options.on_evict = [this](const Hash128&) { ++told_; };
    return OpenOrDie(std::move(options));
  }
  model::Medium MediumOf(Store& store, uint64_t number) {
    auto chunk = store.Get(KeyOf(number));
    EXPECT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_TRUE(ReadAll(*chunk) == BytesOf(KeyOf(number), kChunkBytes));
    return chunk->medium;
  }
  size_t told_ = 0;
};

TEST_F(TieredStoreTest, DemotesWhatItEvicts) {
  auto store = OpenTiered();
  for (int i = 0; i < 30; ++i) {
    clock_.Advance(seconds(1));
    ASSERT_TRUE(Put(*store, i, kChunkBytes).ok());
  }
  StoreStats stats = store->Stats();
  EXPECT_EQ(stats.tiers[0].demotions, stats.tiers[0].evictions);
  EXPECT_EQ(stats.tiers[0].chunk_count + stats.tiers[1].chunk_count, 30u);
  EXPECT_EQ(MediumOf(*store, 0), model::Medium::kSsd);
  EXPECT_EQ(MediumOf(*store, 29), model::Medium::kMem);
}

TEST_F(TieredStoreTest, DropsWhatTheLastTierHasNoRoomFor) {
  auto store = OpenTiered(kQuota);
  for (int i = 0; i < 50; ++i) {
    clock_.Advance(seconds(1));
    ASSERT_TRUE(Put(*store, i, kChunkBytes).ok());
  }
  StoreStats stats = store->Stats();
  EXPECT_LE(stats.tiers[0].used_bytes, kQuota);
  EXPECT_LE(stats.tiers[1].used_bytes, kQuota);
  EXPECT_LE(BytesUnder(dir_ / "slow"), kQuota + 100);
  EXPECT_GT(stats.tiers[1].evictions, 25u);
  EXPECT_FALSE(store->Get(KeyOf(0)).ok());
  EXPECT_TRUE(store->Get(KeyOf(49)).ok());
}

TEST_F(TieredStoreTest, PromotesAndDemotes) {
  auto store = OpenTiered();
  ASSERT_TRUE(Put(*store, 1, kChunkBytes).ok());
  EXPECT_TRUE(store->Promote(KeyOf(1)).ok());  // nothing faster
  EXPECT_EQ(MediumOf(*store, 1), model::Medium::kMem);
  Chunk chunk = *store->Get(KeyOf(1));
  store->AddReader(chunk.key, chunk.size);
  ASSERT_TRUE(store->Demote(KeyOf(1)).ok());
  EXPECT_EQ(MediumOf(*store, 1), model::Medium::kSsd);
  EXPECT_EQ(store->Stats().tiers[0].used_bytes, 0u);
  EXPECT_EQ(store->Stats().tiers[0].mapped_evicted_bytes, kChunkBytes);
  EXPECT_EQ(told_, 1u);
  ASSERT_TRUE(store->Demote(KeyOf(1)).ok());  // nothing slower
  ASSERT_TRUE(store->Promote(KeyOf(1)).ok());
  EXPECT_EQ(MediumOf(*store, 1), model::Medium::kMem);
  EXPECT_TRUE(FilesUnder(dir_ / "slow/chunks").empty());
  EXPECT_EQ(store->Stats().tiers[0].promotions, 1u);
  EXPECT_EQ(store->Promote(KeyOf(2)).code(), StatusCode::kNotFound);
}

TEST_F(TieredStoreTest, DoesNotPromoteACorruptChunk) {
  ASSERT_TRUE(Put(*OpenOrDie(OptionsOf({Slow()})), 1, kChunkBytes).ok());
  Spit(FileOf(dir_ / "slow", KeyOf(1)), std::string(kChunkBytes, 'x'));
  auto store = OpenTiered();
  EXPECT_EQ(store->Promote(KeyOf(1)).code(), StatusCode::kCorrupt);
  EXPECT_FALSE(store->Get(KeyOf(1)).ok());
  EXPECT_EQ(store->Stats().quarantined, 1u);
}

}  // namespace
}  // namespace forebay::storage
