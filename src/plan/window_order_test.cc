#include "plan/window_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "plan/order.h"

namespace forebay::plan {
namespace {

using Counts = std::vector<uint64_t>;

Counts RandomCounts(std::mt19937_64& random, size_t ranges, uint64_t rows_max) {
  Counts counts(ranges);
  for (uint64_t& count : counts) count = random() % 4 == 0 ? 0 : random() % rows_max + 1;
  return counts;
}

Order MakeOrder(const Counts& counts, uint64_t window, uint64_t seed = 7,
                uint64_t epoch = 0) {
  auto layout = RangeLayout::Of(counts);
  return Order::Make({.mode = OrderMode::kWindow,
                      .rows = layout->rows(),
                      .seed = seed,
                      .epoch = epoch,
                      .window_ranges = window,
                      .layout = layout})
      .ValueOrDie();
}

Counts AllRows(const Order& order) {
  Counts rows(order.rows());
  order.RowsAt(0, rows);
  return rows;
}

void ExpectBijection(const Order& order) {
  Counts rows = AllRows(order);
  Counts back = rows;
  order.ToPositions(back);
  std::vector<bool> seen(rows.size());
  for (uint64_t i = 0; i < rows.size(); ++i) {
    ASSERT_LT(rows[i], rows.size());
    ASSERT_FALSE(seen[rows[i]]);
    seen[rows[i]] = true;
    ASSERT_EQ(back[i], i);
  }
}

TEST(WindowOrder, IsABijectionWhateverTheRanges) {
  std::mt19937_64 random(31);
  for (int i = 0; i < 300; ++i) {
    Counts counts = RandomCounts(random, random() % 40, random() % 3 == 0 ? 700 : 9);
    uint64_t window = random() % 12 + 1;
    SCOPED_TRACE(testing::Message() << "case " << i << " window " << window);
    ExpectBijection(MakeOrder(counts, window, random(), random() % 3));
  }
}

TEST(WindowOrder, IsABijectionForManyLargeRangesByItsInverse) {
  std::mt19937_64 random(32);
  Counts counts = RandomCounts(random, 100'000, uint64_t{1} << 23);
  Order order = MakeOrder(counts, 64);
  Counts positions(5000);
  for (uint64_t& position : positions) position = random() % order.rows();
  positions[0] = 0;
  positions[1] = order.rows() - 1;
  Counts values = positions;
  order.ToRows(values);
  for (uint64_t row : values) ASSERT_LT(row, order.rows());
  order.ToPositions(values);
  EXPECT_EQ(values, positions);
}

TEST(WindowOrder, GivesTheSameOneByOneAndInBatches) {
  std::mt19937_64 random(33);
  Order order = MakeOrder(RandomCounts(random, 60, 500), 7);
  Counts rows = AllRows(order);
  for (uint64_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(order.RowAt(i), rows[i]);
    ASSERT_EQ(order.PositionOf(rows[i]), i);
  }
  Counts part(100);
  for (int i = 0; i < 200; ++i) {
    uint64_t first = random() % rows.size();
    order.RowsAt(first, part);
    for (size_t k = 0; k < part.size(); ++k) {
      ASSERT_EQ(part[k], rows[(first + k) % rows.size()]);
    }
  }
}

// The promise: W ranges at a time, each range in one window only.
TEST(WindowOrder, TouchesOnlyTheRangesOfAWindow) {
  std::mt19937_64 random(34);
  for (uint64_t window_ranges : {1, 3, 8, 1000}) {
    Counts counts = RandomCounts(random, 50, 90);
    auto layout = RangeLayout::Of(counts);
    Order order = MakeOrder(counts, window_ranges);
    const WindowOrder& windows = *order.window();
    std::set<uint32_t> all;
    for (uint64_t w = 0; w < windows.window_count(); ++w) {
      std::vector<uint32_t> ranges = windows.RangesOf(w);
      EXPECT_LE(ranges.size(), window_ranges);
      std::set<uint32_t> seen;
      for (uint64_t p = windows.WindowBegin(w); p < windows.WindowBegin(w + 1); ++p) {
        EXPECT_EQ(windows.WindowOf(p), w);
        uint32_t live = layout->LiveOfRow(order.RowAt(p));
        EXPECT_EQ(windows.WindowOfLive(live), w);
        seen.insert(layout->RangeOfLive(live));
      }
      EXPECT_EQ(seen, std::set<uint32_t>(ranges.begin(), ranges.end()));
      for (uint32_t range : seen) EXPECT_TRUE(all.insert(range).second);
    }
    EXPECT_EQ(all.size(), layout->live_count());
  }
}

TEST(WindowOrder, ShufflesRangesAndTheRowsOfAWindow) {
  Order order = MakeOrder(Counts(100, 1000), 10);
  Counts rows = AllRows(order);
  double displacement = 0, together = 0;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    displacement += std::abs(static_cast<double>(rows[i]) - static_cast<double>(i));
    if (i > 0) together += rows[i] / 1000 == rows[i - 1] / 1000;
  }
  // A third of the table on average for a shuffle; 100 places of ranges spread it by 6 %.
  EXPECT_NEAR(displacement / 1e5 / 1e5, 1.0 / 3, 0.08);
  // Neighbours share one of ten ranges a tenth of the time.
  EXPECT_NEAR(together / 1e5, 0.1, 0.01);
}

TEST(WindowOrder, SkipsRangesWithoutLiveRows) {
  Order with = MakeOrder({5, 0, 9, 0, 0, 30}, 2);
  Order without = MakeOrder({5, 9, 30}, 2);
  EXPECT_EQ(AllRows(with), AllRows(without));
  EXPECT_EQ(with.options().layout->hash(), without.options().layout->hash());
  EXPECT_EQ(with.options().layout->RangeOfLive(2), 5U);
  EXPECT_EQ(with.options().layout->LiveOfRange(3), RangeLayout::kNone);
  for (uint64_t w = 0; w < 2; ++w) {
    for (uint32_t range : with.window()->RangesOf(w)) {
      EXPECT_TRUE(range == 0 || range == 2 || range == 5) << range;
    }
  }
}

TEST(WindowOrder, DependsOnSeedEpochWindowAndRanges) {
  Counts counts(64, 50);
  Counts first = AllRows(MakeOrder(counts, 8, 1, 1));
  EXPECT_EQ(first, AllRows(MakeOrder(counts, 8, 1, 1)));
  auto agreements = [&](const Order& order) {
    Counts other = AllRows(order);
    uint64_t same = 0;
    for (size_t i = 0; i < first.size(); ++i) same += first[i] == other[i];
    return same;
  };
  // 3200 rows: one agrees by chance.
  EXPECT_LT(agreements(MakeOrder(counts, 8, 1, 2)), 9U);
  EXPECT_LT(agreements(MakeOrder(counts, 8, 2, 0)), 9U);
  EXPECT_LT(agreements(MakeOrder(counts, 8, 0, 1)), 9U);
  EXPECT_NE(first, AllRows(MakeOrder(counts, 9, 1, 1)));
  counts[10] = 49;
  counts[11] = 51;
  EXPECT_NE(first, AllRows(MakeOrder(counts, 8, 1, 1)));
  EXPECT_NE(RangeLayout::Of(counts)->hash(), RangeLayout::Of(Counts(64, 50))->hash());
}

TEST(WindowOrder, WorksWithoutAnyRows) {
  for (const Counts& counts : {Counts{}, Counts{0, 0, 0}}) {
    Order order = MakeOrder(counts, 4);
    EXPECT_EQ(order.window()->window_count(), 0U);
    order.RowsAt(0, {});
  }
}

TEST(WindowOrder, NeedsRangesOfAsManyRows) {
  Order::Options options{.mode = OrderMode::kWindow, .rows = 10};
  EXPECT_EQ(Order::Make(options).status().message(),
            "The window order needs the table's row ranges: give its layout.");
  options.layout = RangeLayout::Of(Counts{4, 5});
  EXPECT_EQ(Order::Make(options).status().message(),
            "The row ranges have 9 rows, and the order 10: give the ranges of the same "
            "version.");
  options.layout = RangeLayout::Of(Counts{5, 5});
  EXPECT_TRUE(Order::Make(options).ok());
  options.window_ranges = 0;
  EXPECT_EQ(Order::Make(options).status().code(), StatusCode::kInvalid);
}

// Saved cursors depend on these values. A failure here means the order's format changed.
TEST(WindowOrder, KeepsItsValuesBetweenReleases) {
  Order order = MakeOrder(Counts{10, 0, 400, 700, 5, 1000, 90, 30}, 3, 7, 3);
  Counts rows(5);
  order.RowsAt(0, rows);
  EXPECT_EQ(rows, (Counts{1218, 2032, 1632, 1634, 1372}));
  order.RowsAt(2000, rows);
  EXPECT_EQ(rows, (Counts{723, 237, 515, 693, 215}));
  EXPECT_EQ(order.options().layout->hash().ToHex(), "991e66d90ab3ef3ca4fd264c6af4312e");
}

}  // namespace
}  // namespace forebay::plan
