// How random the window order is, and that seeds and epochs of all orders are unrelated.
// As in permutation_quality_test.cc, thresholds are such that chance passes but for one
// time in a million.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "plan/order.h"

namespace forebay::plan {
namespace {

constexpr int kSeeds = 10'000;
constexpr double kSigmas = 4.9;

double UniformSigmas(const std::vector<double>& counts) {
  double total = 0, statistic = 0;
  for (double count : counts) total += count;
  double expected = total / static_cast<double>(counts.size());
  for (double count : counts)
    statistic += (count - expected) * (count - expected) / expected;
  double freedom = static_cast<double>(counts.size()) - 1, spread = 2.0 / (9.0 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

constexpr uint64_t kRanges = 40, kRangeRows = 100, kWindow = 5;
constexpr uint64_t kRows = kRanges * kRangeRows;

Order MakeOrder(OrderMode mode, uint64_t seed, uint64_t epoch) {
  static const auto layout = RangeLayout::Of(std::vector<uint64_t>(kRanges, kRangeRows));
  return Order::Make({.mode = mode,
                      .rows = kRows,
                      .seed = seed,
                      .epoch = epoch,
                      .window_ranges = kWindow,
                      .layout = layout})
      .ValueOrDie();
}

TEST(WindowQuality, EveryPlaceIsUniform) {
  for (uint64_t place : {uint64_t{0}, kRows / 2 + 17, kRows - 1}) {
    std::vector<double> ranges(kRanges), rows(kRangeRows);
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      uint64_t row = MakeOrder(OrderMode::kWindow, seed, seed % 3).RowAt(place);
      ++ranges[row / kRangeRows];
      ++rows[row % kRangeRows];
    }
    EXPECT_LT(UniformSigmas(ranges), kSigmas) << place;
    EXPECT_LT(UniformSigmas(rows), kSigmas) << place;
  }
}

// Of two rows of a window that follow each other: the same range as often as chance has
// it, and any distance inside a range alike.
TEST(WindowQuality, NeighboursAreThoseOfAShuffleOfTheWindow) {
  constexpr uint64_t kWindowRows = kWindow * kRangeRows;
  double same = 0, pairs = 0;
  std::vector<double> distances(kRangeRows);
  std::vector<uint64_t> rows(kRows);
  for (uint64_t seed = 0; seed < 500; ++seed) {
    MakeOrder(OrderMode::kWindow, seed, 1).RowsAt(0, rows);
    for (uint64_t i = 0; i + 1 < kRows; i += i % kWindowRows == kWindowRows - 2 ? 2 : 1) {
      ++pairs;
      same += rows[i] / kRangeRows == rows[i + 1] / kRangeRows;
      if (rows[i] / kRangeRows != rows[i + 1] / kRangeRows) {
        ++distances[(rows[i] + kRangeRows - rows[i + 1] % kRangeRows) % kRangeRows];
      }
    }
  }
  double chance = static_cast<double>(kRangeRows - 1) / (kWindowRows - 1);
  EXPECT_LT(std::abs(same - chance * pairs),
            kSigmas * std::sqrt(pairs * chance * (1 - chance)));
  EXPECT_LT(UniformSigmas(distances), kSigmas);
}

TEST(WindowQuality, InversionsOfAWindowAreThoseOfAShuffle) {
  constexpr uint64_t kCount = 60;
  auto layout = RangeLayout::Of(std::vector<uint64_t>(6, kCount / 6));
  double n = kCount, mean = n * (n - 1) / 4, variance = n * (n - 1) * (2 * n + 5) / 72;
  double sum = 0, squares = 0;
  std::vector<uint64_t> rows(kCount);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Order::Make({.mode = OrderMode::kWindow,
                 .rows = kCount,
                 .seed = seed,
                 .window_ranges = 6,
                 .layout = layout})
        ->RowsAt(0, rows);
    double inversions = 0;
    for (uint64_t i = 0; i < kCount; ++i) {
      for (uint64_t j = i + 1; j < kCount; ++j) inversions += rows[i] > rows[j];
    }
    sum += inversions - mean;
    squares += (inversions - mean) * (inversions - mean);
  }
  EXPECT_LT(std::abs(sum / std::sqrt(variance * kSeeds)), kSigmas);
  EXPECT_LT(std::abs(squares / (variance * kSeeds) - 1),
            kSigmas * std::sqrt(2.0 / kSeeds));
}

TEST(WindowQuality, NeighbouringEpochsPutRangesElsewhere) {
  std::vector<double> counts(64);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    uint64_t here = MakeOrder(OrderMode::kWindow, seed, 0).PositionOf(17) * 8 / kRows;
    uint64_t next = MakeOrder(OrderMode::kWindow, seed, 1).PositionOf(17) * 8 / kRows;
    ++counts[here * 8 + next];
  }
  EXPECT_LT(UniformSigmas(counts), kSigmas);
}

// How much two orders share: rows at the same place, rows that follow each other in both,
// and the correlation of places.
struct Shared {
  double places = 0, successors = 0, correlation = 0;
};

Shared Compare(const Order& a, const Order& b) {
  std::vector<uint64_t> x(kRows), y(kRows), next(kRows);
  a.RowsAt(0, x);
  b.RowsAt(0, y);
  Shared shared;
  double middle = (kRows - 1) / 2.0, variance = (kRows * kRows - 1.0) / 12;
  for (uint64_t i = 0; i < kRows; ++i) {
    shared.places += x[i] == y[i];
    next[x[i]] = x[(i + 1) % kRows];
    shared.correlation += (static_cast<double>(x[i]) - middle) *
                          (static_cast<double>(y[i]) - middle) / variance / kRows;
  }
  for (uint64_t i = 0; i < kRows; ++i)
    shared.successors += next[y[i]] == y[(i + 1) % kRows];
  return shared;
}

// A sum of seed and epoch would make these one and the same order.
TEST(Seeds, AreHashedAndNeverAddedToEpochs) {
  for (OrderMode mode : {OrderMode::kWindow, OrderMode::kGlobal}) {
    Shared total;
    double correlations = 0;
    constexpr int kPairs = 400;
    for (uint64_t i = 0; i < kPairs; ++i) {
      // (1, 1) and (2, 0), (2, 2) and (3, 1), …
      Shared shared =
          Compare(MakeOrder(mode, i + 1, i % 5 + 1), MakeOrder(mode, i + 2, i % 5));
      total.places += shared.places;
      total.successors += shared.successors;
      total.correlation += shared.correlation;
      correlations += shared.correlation * shared.correlation;
    }
    // By chance one row stands at the same place, and one has the same successor. Rows of
    // one range are always in one window, so there successors agree more often: a fifth
    // is of the row's own range, the others of any. Counts are of Poisson's kind; those
    // of windows come in runs, which spreads them more.
    double own = (kRangeRows - 1.0) / (kWindow * kRangeRows - 1.0);
    double successors = mode == OrderMode::kGlobal
                            ? 1
                            : kRows * (own * own / (kRangeRows - 1) +
                                       (1 - own) * (1 - own) / (kRows - kRangeRows));
    double wide = mode == OrderMode::kWindow ? 2 : 1;
    EXPECT_NEAR(total.places, kPairs, wide * kSigmas * std::sqrt(kPairs));
    EXPECT_NEAR(total.successors, successors * kPairs,
                wide * kSigmas * std::sqrt(successors * kPairs))
        << OrderModeName(mode);
    EXPECT_LT(std::abs(total.correlation), kSigmas * std::sqrt(correlations));
  }
}

}  // namespace
}  // namespace forebay::plan
