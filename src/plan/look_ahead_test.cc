#include "plan/look_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace forebay::plan {
namespace {

constexpr OrderMode kModes[] = {OrderMode::kSequential, OrderMode::kWindow,
                                OrderMode::kGlobal};

// Two epochs of a small table, with everything counted out.
struct Epochs {
  Epochs(OrderMode mode, const std::vector<uint64_t>& counts)
      : layout(RangeLayout::Of(counts)),
        look_ahead(
            {.order = MakeOrder(mode, 4), .next = MakeOrder(mode, 5), .layout = layout}) {
    for (uint64_t epoch : {4, 5}) {
      Order order = MakeOrder(mode, epoch);
      for (uint64_t p = 0; p < order.rows(); ++p) {
        ranges.push_back(layout->RangeOfLive(layout->LiveOfRow(order.RowAt(p))));
      }
    }
  }
  Order MakeOrder(OrderMode mode, uint64_t epoch) const {
    return Order::Make({.mode = mode,
                        .rows = layout->rows(),
                        .seed = 3,
                        .epoch = epoch,
                        .window_ranges = 3,
                        .layout = layout})
        .ValueOrDie();
  }
  std::optional<uint64_t> CountedUse(uint32_t range, uint64_t position) const {
    auto found =
        std::find(ranges.begin() + static_cast<int64_t>(position), ranges.end(), range);
    if (found == ranges.end()) return std::nullopt;
    return static_cast<uint64_t>(found - ranges.begin());
  }

  std::shared_ptr<const RangeLayout> layout;
  LookAhead look_ahead;
  std::vector<uint32_t> ranges;  // of each position of both epochs
};

const std::vector<uint64_t> kCounts = {20, 3, 0, 41, 7, 0, 0, 30, 1, 25, 12};

TEST(LookAhead, KnowsTheNextUseOfEveryRangeAtEveryPosition) {
  for (OrderMode mode : kModes) {
    Epochs epochs(mode, kCounts);
    for (uint64_t position = 0; position < epochs.ranges.size(); ++position) {
      for (uint32_t range = 0; range < kCounts.size(); ++range) {
        ASSERT_EQ(epochs.look_ahead.NextUse(range, position),
                  epochs.CountedUse(range, position))
            << OrderModeName(mode) << " range " << range << " at " << position;
      }
    }
  }
}

TEST(LookAhead, FindsTheNextUseOfARareRange) {
  // One row of a million, and a range of half of them.
  Epochs epochs(OrderMode::kGlobal, {100'000, 1, 99'999});
  for (uint64_t position : {0, 50'000, 150'000, 199'999, 200'000, 399'000}) {
    for (uint32_t range : {0, 1, 2}) {
      EXPECT_EQ(epochs.look_ahead.NextUse(range, position),
                epochs.CountedUse(range, position));
    }
  }
}

TEST(LookAhead, NeedsARangeNoLaterThanItsNextUse) {
  for (OrderMode mode : kModes) {
    Epochs epochs(mode, kCounts);
    uint64_t rows = epochs.look_ahead.rows();
    for (uint64_t position = 0; position < 2 * rows; ++position) {
      for (uint32_t range = 0; range < kCounts.size(); ++range) {
        auto use = epochs.CountedUse(range, position);
        auto needed = epochs.look_ahead.NeededFrom(range, position);
        if (!use) continue;  // a window may last longer than the range's last row
        ASSERT_TRUE(needed.has_value());
        ASSERT_LE(*needed, *use);
        ASSERT_GE(*needed, position);
        if (*use < rows) {
          ASSERT_LT(*use, epochs.look_ahead.NeededUntil(range));
        }
        if (mode == OrderMode::kSequential) {
          ASSERT_EQ(needed, use);
        }
      }
    }
  }
}

TEST(LookAhead, NeedsNothingOfARangeWithoutRows) {
  Epochs epochs(OrderMode::kWindow, kCounts);
  EXPECT_EQ(epochs.look_ahead.NextUse(2, 0), std::nullopt);
  EXPECT_EQ(epochs.look_ahead.NeededFrom(2, 0), std::nullopt);
  EXPECT_EQ(epochs.look_ahead.NeededUntil(2), 0U);
}

TEST(LookAhead, NamesTheRangesOfAStretch) {
  for (OrderMode mode : kModes) {
    Epochs epochs(mode, kCounts);
    for (uint64_t first = 0; first < epochs.layout->rows(); first += 5) {
      std::vector<uint32_t> expected;
      for (uint64_t p = first; p < std::min(first + 17, epochs.layout->rows()); ++p) {
        uint32_t range = epochs.ranges[p];
        if (std::ranges::find(expected, range) == expected.end())
          expected.push_back(range);
      }
      EXPECT_EQ(epochs.look_ahead.RangesAt(first, 17), expected) << OrderModeName(mode);
    }
  }
}

TEST(LookAhead, NamesTheNextRangesInTheOrderTheyAreNeeded) {
  for (OrderMode mode : kModes) {
    Epochs epochs(mode, kCounts);
    for (uint64_t position = 0; position < epochs.ranges.size(); ++position) {
      for (size_t limit : {1, 4, 100}) {
        std::vector<uint32_t> next = epochs.look_ahead.NextRanges(position, limit);
        ASSERT_LE(next.size(), limit);
        ASSERT_EQ(std::set(next.begin(), next.end()).size(), next.size());
        if (position < epochs.layout->rows()) {
          ASSERT_EQ(next.size(), std::min<size_t>(limit, 8));
        }
        uint64_t before = position;
        for (uint32_t range : next) {
          auto needed = epochs.look_ahead.NeededFrom(range, position);
          ASSERT_TRUE(needed.has_value());
          ASSERT_GE(*needed, before);
          before = *needed;
        }
      }
    }
  }
}

// A store that asks LookAhead what to let go of.
class Store {
 public:
  explicit Store(size_t capacity) : capacity_(capacity) {}

  // True when the range was at hand.
  bool Bring(uint32_t range, uint64_t position, const LookAhead& look_ahead) {
    if (held_.contains(range)) return true;
    if (held_.size() == capacity_) {
      auto needed = [&](uint32_t held) {
        return look_ahead.NeededFrom(held, position).value_or(UINT64_MAX);
      };
      held_.erase(std::ranges::max(held_, {}, needed));
    }
    held_.insert(range);
    return false;
  }

 private:
  size_t capacity_;
  std::set<uint32_t> held_;
};

// Half of the ranges fit. Least-recent use would hit nothing in sequential epochs.
TEST(LookAhead, TellsAStoreOfHalfTheTableWhatToKeep) {
  constexpr uint32_t kRanges = 300, kHalf = kRanges / 2;
  for (OrderMode mode : {OrderMode::kSequential, OrderMode::kWindow}) {
    Epochs table(mode, std::vector<uint64_t>(kRanges, 10));
    Store store(kHalf);
    uint64_t hits = 0, later_epochs = 4;
    for (uint64_t epoch = 0; epoch <= later_epochs; ++epoch) {
      LookAhead look_ahead({.order = table.MakeOrder(mode, epoch),
                            .next = table.MakeOrder(mode, epoch + 1),
                            .layout = table.layout});
      for (uint32_t range : look_ahead.NextRanges(0, kRanges)) {
        uint64_t position = *look_ahead.NeededFrom(range, 0);
        hits += store.Bring(range, position, look_ahead) && epoch > 0 ? 1 : 0;
      }
    }
    double rate = static_cast<double>(hits) / static_cast<double>(later_epochs * kRanges);
    EXPECT_GE(rate, 0.98 * kHalf / kRanges) << OrderModeName(mode);
  }
}

TEST(LookAhead, WithoutANextEpochLooksNoFartherThanTheEnd) {
  auto layout = RangeLayout::Of(kCounts);
  Order order = Order::Make({.rows = layout->rows()}).ValueOrDie();
  LookAhead look_ahead({.order = order, .layout = layout});
  EXPECT_EQ(look_ahead.NextUse(0, 20), std::nullopt);
  EXPECT_EQ(look_ahead.NeededFrom(0, 20), std::nullopt);
  EXPECT_EQ(look_ahead.NextRanges(layout->rows() - 1, 9), (std::vector<uint32_t>{10}));
  EXPECT_TRUE(look_ahead.NextRanges(layout->rows(), 9).empty());
}

}  // namespace
}  // namespace forebay::plan
