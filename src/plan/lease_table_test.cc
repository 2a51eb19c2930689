#include "plan/lease_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace forebay::plan {
namespace {

constexpr int64_t kLeaseMs = 100;

LeaseTable MakeTable(uint64_t rows, uint64_t lease_rows) {
  return LeaseTable::Make({.rows = rows, .lease_rows = lease_rows, .lease_ms = kLeaseMs},
                          {})
      .ValueOrDie();
}

TEST(LeaseTable, GivesEachPositionOnce) {
  LeaseTable table = MakeTable(10, 4);
  Lease a = *table.Take("a", 0).lease;
  Lease b = *table.Take("b", 0).lease;
  Lease c = *table.Take("a", 0).lease;
  EXPECT_EQ(
      a, (Lease{.fence = 1, .first = 0, .count = 4, .expires_ms = 100, .holder = "a"}));
  EXPECT_EQ(b.first, 4U);
  EXPECT_EQ(c.count, 2U);
  EXPECT_EQ(table.acknowledged_rows(), 0U);
  LeaseGrant none = table.Take("b", 50);
  EXPECT_FALSE(none.lease.has_value());
  EXPECT_FALSE(none.finished);
  EXPECT_EQ(none.retry_ms, 100);
  EXPECT_TRUE(table.Acknowledge(c.fence, 10, 50).ok());
  EXPECT_TRUE(table.Acknowledge(a.fence, 4, 50).ok());
  EXPECT_FALSE(table.finished());
  EXPECT_TRUE(table.Acknowledge(b.fence, 8, 50).ok());
  EXPECT_TRUE(table.finished());
  EXPECT_TRUE(table.Take("a", 50).finished);
}

TEST(LeaseTable, GivesWhatAVanishedHolderLeftOver) {
  LeaseTable table = MakeTable(10, 5);
  Lease gone = *table.Take("gone", 0).lease;
  EXPECT_TRUE(table.Acknowledge(gone.fence, 2, 60).ok());
  EXPECT_EQ(table.Take("b", 159).lease->first, 5U);  // still its own
  Lease again = *table.Take("b", 160).lease;
  EXPECT_EQ(again.first, 2U);
  EXPECT_EQ(again.count, 3U);
  EXPECT_GT(again.fence, gone.fence);
  EXPECT_EQ(table.acknowledged_rows(), 2U);
}

TEST(LeaseTable, RefusesTheLateWordOfAZombie) {
  LeaseTable table = MakeTable(5, 5);
  Lease first = *table.Take("a", 0).lease;
  Lease second = *table.Take("b", 100).lease;
  EXPECT_EQ(table.Acknowledge(first.fence, 5, 101).code(), StatusCode::kChanged);
  EXPECT_EQ(table.Renew(first.fence, 101).code(), StatusCode::kChanged);
  EXPECT_EQ(table.Release(first.fence, 101).code(), StatusCode::kChanged);
  EXPECT_TRUE(table.Acknowledge(second.fence, 5, 101).ok());
  // Also when the rows are long done.
  EXPECT_EQ(table.Acknowledge(first.fence, 5, 102).code(), StatusCode::kChanged);
  EXPECT_EQ(table.Acknowledge(second.fence, 5, 102).code(), StatusCode::kChanged);
  EXPECT_EQ(table.acknowledged_rows(), 5U);
}

TEST(LeaseTable, TakesALateWordWhileNobodyElseHasTheRows) {
  LeaseTable table = MakeTable(5, 5);
  Lease lease = *table.Take("a", 0).lease;
  EXPECT_TRUE(table.Acknowledge(lease.fence, 3, 500).ok());
  EXPECT_FALSE(table.Take("b", 599).lease.has_value());
  EXPECT_EQ(table.Take("b", 600).lease->first, 3U);
}

TEST(LeaseTable, KeepsALeaseThatIsRenewed) {
  LeaseTable table = MakeTable(5, 5);
  Lease lease = *table.Take("a", 0).lease;
  for (int64_t now = 90; now < 1000; now += 90) {
    EXPECT_TRUE(table.Renew(lease.fence, now).ok());
    EXPECT_FALSE(table.Take("b", now + 80).lease.has_value());
  }
}

TEST(LeaseTable, GivesAReleasedLeaseAtOnceAndTakesNoWordForIt) {
  LeaseTable table = MakeTable(5, 5);
  Lease lease = *table.Take("a", 0).lease;
  EXPECT_TRUE(table.Release(lease.fence, 10).ok());
  EXPECT_EQ(table.Acknowledge(lease.fence, 5, 11).code(), StatusCode::kChanged);
  EXPECT_EQ(table.Take("b", 11).lease->first, 0U);
}

TEST(LeaseTable, CutsALargeOldLeaseIntoSmallerOnes) {
  LeaseTable table = MakeTable(20, 20);
  Lease old = *table.Take("a", 0).lease;
  LeaseTable smaller =
      LeaseTable::Make({.rows = 20, .lease_rows = 6, .lease_ms = kLeaseMs}, table.state())
          .ValueOrDie();
  EXPECT_EQ(smaller.Take("b", 200).lease->first, 0U);
  EXPECT_EQ(smaller.Acknowledge(old.fence, 20, 200).code(), StatusCode::kChanged);
  EXPECT_EQ(smaller.Take("c", 200).lease->first, 6U);
  EXPECT_EQ(smaller.Take("d", 200).lease->first, 12U);
  EXPECT_EQ(smaller.Take("e", 200).lease->count, 2U);
  EXPECT_FALSE(smaller.Take("f", 200).lease.has_value());
}

TEST(LeaseTable, RefusesPositionsThatAreNotOfTheLease) {
  LeaseTable table = MakeTable(20, 5);
  table.Take("a", 0);
  Lease lease = *table.Take("a", 0).lease;
  EXPECT_EQ(table.Acknowledge(lease.fence, 4, 0).message(),
            "lease 2 has positions 5 to 10: 4 is none of them");
  EXPECT_EQ(table.Acknowledge(lease.fence, 11, 0).code(), StatusCode::kInvalid);
  EXPECT_TRUE(table.Acknowledge(lease.fence, 5, 0).ok());  // nothing yet, but alive
}

TEST(LeaseTable, RefusesAStateThatDoesNotAddUp) {
  auto code = [](LeaseState state) {
    return LeaseTable::Make({.rows = 10, .lease_rows = 5, .lease_ms = 1},
                            std::move(state))
        .status()
        .code();
  };
  EXPECT_EQ(code({.frontier = 11}), StatusCode::kCorrupt);
  EXPECT_EQ(code({.frontier = 5,
                  .next_fence = 2,
                  .held = {{.fence = 1, .first = 3, .count = 3}}}),
            StatusCode::kCorrupt);
  EXPECT_EQ(code({.frontier = 5,
                  .next_fence = 1,
                  .held = {{.fence = 1, .first = 3, .count = 2}}}),
            StatusCode::kCorrupt);
  EXPECT_EQ(code({.frontier = 5,
                  .next_fence = 2,
                  .held = {{.fence = 1, .first = 3, .count = 2}}}),
            StatusCode::kOk);
}

// A world of holders that work, vanish, stall past their lease and come back.
struct World {
  explicit World(uint64_t seed) : random(seed), times(random() % 300 + 1) {
    table = MakeTable(times.size(), random() % 20 + 1);
  }
  void Acknowledge(Lease& lease, uint64_t count) {
    Status status = table->Acknowledge(lease.fence, lease.first + count, now);
    if (!status.ok()) {
      ++refused;
      lease.count = 0;
      return;
    }
    for (uint64_t i = 0; i < count; ++i) ++times[lease.first + i];
    lease.first += count;
    lease.count -= count;
  }
  void Step() {
    now += static_cast<int64_t>(random() % 30);
    Lease& mine = holders[random() % holders.size()];
    if (mine.count == 0) {
      if (auto lease = table->Take("h", now).lease) mine = *lease;
      return;
    }
    switch (random() % 8) {
      case 0: mine.count = 0; return;   // killed
      case 1: now += kLeaseMs; return;  // everybody stalls
      case 2: return;                   // this one stalls
      default: return Acknowledge(mine, random() % mine.count + 1);
    }
  }

  std::mt19937_64 random;
  std::vector<int> times;  // each row was acknowledged
  std::optional<LeaseTable> table{};
  std::vector<Lease> holders = std::vector<Lease>(5);
  int64_t now = 0;
  int refused = 0;
};

TEST(LeaseTable, CountsEachRowOnceWhateverHolders) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    World world(seed);
    for (int i = 0; i < 100'000 && !world.table->finished(); ++i) world.Step();
    EXPECT_TRUE(world.table->finished()) << "seed " << seed;
    EXPECT_TRUE(std::ranges::all_of(world.times, [](int n) { return n == 1; })) << seed;
    refused += world.refused;
  }
  EXPECT_GT(refused, 400);  // zombies did come back
}

}  // namespace
}  // namespace forebay::plan
