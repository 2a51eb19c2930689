// The store's bookkeeping: who maps what, what a tier holds, who goes first.
#include <gtest/gtest.h>

#include "storage/eviction_policy.h"
#include "storage/reader_ledger.h"
#include "storage/store_testing.h"
#include "storage/tier_index.h"

namespace forebay::storage {
namespace {

TEST(ReaderLedger, CountsEvictedBytesUntilTheLastReaderLetsGo) {
  ReaderLedger ledger(2);
  ledger.Add(KeyOf(1), 100, 0);
  ledger.Add(KeyOf(1), 100, 0);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
  EXPECT_FALSE(ledger.IsMapped(KeyOf(1), 1));
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
  ledger.OnRemoved(KeyOf(1), 0);
  EXPECT_FALSE(ledger.IsMapped(KeyOf(1), 0));
  EXPECT_EQ(ledger.evicted_bytes(0), 100u);
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(0), 100u);
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
  ledger.Drop(KeyOf(1));  // one too many is harmless
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
}

TEST(ReaderLedger, KeepsOldAndNewCopiesOfAKeyApart) {
  ReaderLedger ledger(1);
  ledger.Add(KeyOf(1), 100, 0);
  ledger.OnRemoved(KeyOf(1), 0);
  ledger.Add(KeyOf(1), 100, 0);
  EXPECT_EQ(ledger.evicted_bytes(0), 100u);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(0), 0u);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
}

TEST(ReaderLedger, CountsMappedChunksNoTierHolds) {
  ReaderLedger ledger(1);
  ledger.Add(KeyOf(1), 100, std::nullopt);
  EXPECT_EQ(ledger.evicted_bytes(0), 0u);
  EXPECT_EQ(ledger.evicted_bytes(), 100u);
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
}

TEST(LeastRecentUse, PutsTheOldestFirst) {
  std::vector<EvictionCandidate> candidates = {{.key = KeyOf(1), .last_use_ns = 30},
                                               {.key = KeyOf(2), .last_use_ns = 10},
                                               {.key = KeyOf(3), .last_use_ns = 20}};
  LeastRecentUse().Order(candidates);
  EXPECT_EQ(candidates[0].key, KeyOf(2));
  EXPECT_EQ(candidates[1].key, KeyOf(3));
  EXPECT_EQ(candidates[2].key, KeyOf(1));
}

ChunkName NameFor(uint64_t number, uint64_t size, uint64_t checksum = 1) {
  return {.key = KeyOf(number), .checksum = {.high = 0, .low = checksum}, .size = size};
}

TEST(TierIndex, FollowsWhatOthersPublishAndUnlink) {
  TierIndex index;
  index.Put({.name = NameFor(1, 10), .fd = nullptr});
  index.Put({.name = NameFor(2, 20), .fd = nullptr});
  uint64_t scan = index.BeginScan();
  auto changes = index.Reconcile({NameFor(2, 20), NameFor(3, 30)}, scan);
  ASSERT_EQ(changes.gone.size(), 1u);
  EXPECT_EQ(changes.gone[0].name.key, KeyOf(1));
  EXPECT_EQ(index.bytes(), 50u);
  EXPECT_NE(index.Find(KeyOf(3)), nullptr);
  EXPECT_FALSE(index.Find(KeyOf(3))->verified);
}

TEST(TierIndex, KeepsWhatWasPublishedDuringTheScan) {
  TierIndex index;
  uint64_t scan = index.BeginScan();
  index.Put({.name = NameFor(1, 10), .fd = nullptr});
  EXPECT_TRUE(index.Reconcile({}, scan).gone.empty());
  EXPECT_NE(index.Find(KeyOf(1)), nullptr);
}

TEST(TierIndex, ChoosesTheSameOfTwoFilesOfAKeyInAnyOrder) {
  for (bool swapped : {false, true}) {
    TierIndex index;
    std::vector<ChunkName> seen = {NameFor(1, 10, 5), NameFor(1, 11, 4)};
    if (swapped) std::swap(seen[0], seen[1]);
    auto changes = index.Reconcile(seen, index.BeginScan());
    ASSERT_EQ(changes.duplicates.size(), 1u);
    EXPECT_EQ(changes.duplicates[0].size, 10u);
    EXPECT_EQ(index.Find(KeyOf(1))->name.size, 11u);
    EXPECT_EQ(index.bytes(), 11u);
  }
}

TEST(TierIndex, NeverTakesBackWhatIsCondemned) {
  TierIndex index;
  index.Condemn(NameFor(1, 10));
  index.Reconcile({NameFor(1, 10)}, index.BeginScan());
  EXPECT_EQ(index.count(), 0u);
  index.Pardon(NameFor(1, 10));
  index.Reconcile({NameFor(1, 10)}, index.BeginScan());
  EXPECT_EQ(index.count(), 1u);
}

}  // namespace
}  // namespace forebay::storage
