// Chunks that another node keeps too: what goes for them, and what they go for.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

constexpr size_t kChunkBytes = 1000;
constexpr uint64_t kQuota = 10 * kChunkBytes;

// Chunks from 100 on are second copies; others do not go for them.
class SecondCopyTest : public testing::TestWithParam<bool> {
 protected:
  struct SecondCopiesFirst : EvictionPolicy {
    static bool IsSecond(const Hash128& key) {
      for (uint64_t i = 100; i < 120; ++i) {
        if (key == KeyOf(i)) return true;
      }
      return false;
    }
    // Those of a faster tier go on to the next.
    static bool LeaveStore(const std::vector<EvictionCandidate>& candidates) {
      return candidates.empty() || candidates.front().leaves_store;
    }
    void Order(std::vector<EvictionCandidate>& candidates) const override {
      LeastRecentUse().Order(candidates);
      if (!LeaveStore(candidates)) return;
      std::ranges::stable_sort(candidates, std::greater<>(),
                               [](const auto& one) { return IsSecond(one.key); });
    }
    bool IsSecondCopy(const Hash128& key) const override { return IsSecond(key); }
    size_t OrderForSecondCopy(const Hash128&,
                              std::vector<EvictionCandidate>& candidates) const override {
      Order(candidates);
      if (!LeaveStore(candidates)) return candidates.size();
      auto is_second = [](const auto& one) { return IsSecond(one.key); };
      return static_cast<size_t>(std::ranges::count_if(candidates, is_second));
    }
  };
  TierOptions Tier() {
    TierOptions tier =
        GetParam() ? MemoryOptions(kQuota) : DirectoryOptions(dir_ / "store", kQuota);
    tier.high_watermark = tier.low_watermark = 1.0;
    return tier;
  }
  std::unique_ptr<Store> OpenStore(std::vector<TierOptions> tiers) {
    StoreOptions options = OptionsOf(std::move(tiers), &clock_);
    options.policy = std::make_unique<SecondCopiesFirst>();
    options.borrowed_bytes_max = 3 * kChunkBytes;
    return OpenOrDie(std::move(options));
  }
  void Fill(Store& store, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      clock_.Advance(std::chrono::seconds(1));
      ASSERT_TRUE(Put(store, i, kChunkBytes).ok());
    }
  }
  std::vector<uint64_t> Held(Store& store) {
    std::vector<uint64_t> held;
    for (uint64_t i = 0; i < 120; ++i) {
      if (store.Contains(KeyOf(i))) held.push_back(i);
    }
    return held;
  }

  TempDir dir_;
  FakeClock clock_;
};

TEST_P(SecondCopyTest, GoesForASecondCopyAndNothingElseDoes) {
  auto store = OpenStore({Tier()});
  Fill(*store, 0, 9);
  Fill(*store, 100, 3);
  EXPECT_EQ(Held(*store), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 102}));
  EXPECT_EQ(store->Stats().unkept, 0U);
  Fill(*store, 9, 1);
  EXPECT_EQ(Held(*store), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(Put(*store, 103, kChunkBytes)->borrowed);
  EXPECT_EQ(Held(*store).size(), 10U);
  EXPECT_TRUE(store->Stats().tiers[0].write_status.ok()) << "the tier did not fail";
}

TEST_P(SecondCopyTest, TakesMemoryRatherThanTheRoomOfOneThatIsMapped) {
  auto store = OpenStore({Tier()});
  Fill(*store, 0, 9);
  Fill(*store, 100, 1);
  store->AddReader(KeyOf(100), kChunkBytes);
  EXPECT_TRUE(Put(*store, 101, kChunkBytes)->borrowed);
  EXPECT_TRUE(store->Contains(KeyOf(100)));
}

TEST_P(SecondCopyTest, IsRetainedInMemoryUntilThatIsNeeded) {
  auto store = OpenStore({Tier()});
  Fill(*store, 0, 10);
  Fill(*store, 100, 3);
  EXPECT_EQ(store->Stats().borrowed_bytes, 3 * kChunkBytes);
  auto kept = store->Get(KeyOf(100));
  ASSERT_TRUE(kept.ok()) << "whoever said it would need it finds it";
  EXPECT_TRUE(ReadAll(*kept) == BytesOf(KeyOf(100), kChunkBytes));
  kept = Status::NotFound("let go");
  Fill(*store, 103, 1);
  EXPECT_FALSE(store->Get(KeyOf(100)).ok()) << "the oldest one goes";
  EXPECT_TRUE(store->Get(KeyOf(103)).ok());
  EXPECT_EQ(Held(*store).size(), 10U);
}

TEST_P(SecondCopyTest, MayBeKeptByReadersWhileOthersAreOnlyRetained) {
  auto store = OpenStore({Tier()});
  Fill(*store, 0, 10);
  Fill(*store, 100, 3);
  EXPECT_EQ(store->AddKeepingReader(*store->Get(KeyOf(102))), Status::OK());
  EXPECT_EQ(store->AddKeepingReader(*store->Get(KeyOf(101))), Status::OK());
  EXPECT_EQ(store->AddKeepingReader(*store->Get(KeyOf(100))).code(), StatusCode::kFull);
}

TEST_P(SecondCopyTest, EvictsOthersOnceNoMemoryIsLeft) {
  auto store = OpenStore({Tier()});
  Fill(*store, 0, 10);
  Fill(*store, 100, 3);
  for (uint64_t i = 100; i < 103; ++i) store->AddReader(*store->Get(KeyOf(i)));
  Fill(*store, 103, 1);
  EXPECT_EQ(Held(*store), (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 103}));
}

TEST_P(SecondCopyTest, IsNotDemotedAtTheCostOfOthers) {
  TierOptions fast = MemoryOptions(2 * kChunkBytes);
  fast.high_watermark = fast.low_watermark = 1.0;
  auto store = OpenStore({fast, Tier()});
  Fill(*store, 0, 11);
  Fill(*store, 100, 1);
  EXPECT_EQ(Held(*store).size(), 12U);
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(store->Get(KeyOf(10)).ok());  // the second copy is the first to go
  Fill(*store, 11, 1);
  EXPECT_EQ(Held(*store), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

INSTANTIATE_TEST_SUITE_P(Tiers, SecondCopyTest, testing::Bool(), [](const auto& info) {
  return info.param ? "memory" : "directory";
});

}  // namespace
}  // namespace forebay::storage
