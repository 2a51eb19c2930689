#include "storage/tier_index.h"

#include <gtest/gtest.h>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

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

TEST(TierIndex, CountsTheBytesOfWhatItHolds) {
  TierIndex index;
  EXPECT_FALSE(index.Put({.name = NameFor(1, 10), .fd = nullptr}).has_value());
  index.Put({.name = NameFor(2, 20), .fd = nullptr});
  auto old = index.Put({.name = NameFor(1, 15, 2), .fd = nullptr});
  ASSERT_TRUE(old.has_value());
  EXPECT_EQ(old->name.size, 10u);
  EXPECT_EQ(index.bytes(), 35u);
  EXPECT_EQ(index.count(), 2u);
  EXPECT_EQ(index.Take(KeyOf(1))->name.size, 15u);
  EXPECT_FALSE(index.Take(KeyOf(1)).has_value());
  EXPECT_EQ(index.bytes(), 20u);
}

TEST(TierIndex, TellsThePolicyAllItKnows) {
  TierIndex index;
  IndexEntry entry{.name = NameFor(1, 10), .fd = nullptr};
  entry.name.kind = model::ChunkKind::kFile;
  entry.last_use_ns = 77;
  index.Put(entry);
  auto candidates = index.Candidates();
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].key, KeyOf(1));
  EXPECT_EQ(candidates[0].size, 10u);
  EXPECT_EQ(candidates[0].kind, model::ChunkKind::kFile);
  EXPECT_EQ(candidates[0].last_use_ns, 77);
  ASSERT_EQ(index.Entries().size(), 1u);
  EXPECT_EQ(index.Entries()[0].name, entry.name);
}

TEST(TierIndex, AScanTakesWhatItListedBeforeAsStillThere) {
  TierIndex index;
  index.Put({.name = NameFor(1, 10), .fd = nullptr});
  index.Find(KeyOf(1))->verified = true;
  auto changes = index.Reconcile({NameFor(1, 10)}, index.BeginScan());
  EXPECT_TRUE(changes.gone.empty());
  EXPECT_TRUE(index.Find(KeyOf(1))->verified) << "what was verified stays so";
}

TEST(TierIndex, AScanTakesAFileOfOtherBytesForAnotherChunk) {
  TierIndex index;
  index.Put({.name = NameFor(1, 10, 7), .fd = nullptr});
  index.Find(KeyOf(1))->verified = true;
  auto changes = index.Reconcile({NameFor(1, 10, 8)}, index.BeginScan());
  ASSERT_EQ(changes.gone.size(), 1u);
  ASSERT_NE(index.Find(KeyOf(1)), nullptr);
  EXPECT_EQ(index.Find(KeyOf(1))->name.checksum.low, 8u);
  EXPECT_FALSE(index.Find(KeyOf(1))->verified);
}

TEST(TierIndex, AnEntryOfAnEarlierScanIsGoneWhenTheNextDoesNotSeeIt) {
  TierIndex index;
  uint64_t first = index.BeginScan();
  index.Put({.name = NameFor(1, 10), .fd = nullptr});
  EXPECT_TRUE(index.Reconcile({}, first).gone.empty());
  EXPECT_EQ(index.Reconcile({}, index.BeginScan()).gone.size(), 1u);
}

TEST(TierIndex, CondemnsAFileAndNotItsKey) {
  TierIndex index;
  index.Condemn(NameFor(1, 10, 5));
  EXPECT_TRUE(index.IsCondemned(NameFor(1, 10, 5)));
  EXPECT_FALSE(index.IsCondemned(NameFor(1, 10, 6)));
  index.Reconcile({NameFor(1, 10, 5), NameFor(1, 10, 6)}, index.BeginScan());
  ASSERT_NE(index.Find(KeyOf(1)), nullptr);
  EXPECT_EQ(index.Find(KeyOf(1))->name.checksum.low, 6u);
}

}  // namespace
}  // namespace forebay::storage
