// How random the permutation is. Every test draws 10,000 seeds or more and asks for a
// statistic that a uniform shuffle gives, with a threshold such a shuffle passes but for
// about one time in a million; seeds are fixed, so results do not change between runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "plan/permutation.h"

namespace forebay::plan {
namespace {

constexpr int kSeeds = 10'000;
constexpr double kSigmas = 4.9;

// How many standard deviations a chi-square statistic lies above what chance gives
// (Wilson–Hilferty).
double ChiSquareSigmas(const std::vector<double>& counts,
                       const std::vector<double>& expected) {
  double statistic = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    statistic += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  double freedom = static_cast<double>(counts.size()) - 1;
  double spread = 2.0 / (9.0 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

double UniformSigmas(const std::vector<double>& counts) {
  double total = 0;
  for (double count : counts) total += count;
  std::vector<double> expected(counts.size(), total / static_cast<double>(counts.size()));
  return ChiSquareSigmas(counts, expected);
}

void ForEachSeed(uint64_t size, const std::function<void(const Permutation&)>& look) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    look(Permutation({.size = size, .seed = seed, .epoch = seed % 3}));
  }
}

// Tables, networks with many rounds, networks with few; radices equal and unequal.
constexpr uint64_t kSizes[] = {2,    3,    5,      16,     100,     256,     257,    300,
                               1000, 4099, 32'767, 32'768, 100'000, 1 << 20, 1 << 30};

TEST(PermutationQuality, EveryPlaceIsUniform) {
  for (uint64_t size : kSizes) {
    uint64_t buckets = std::min<uint64_t>(size, 50);
    for (uint64_t place : {uint64_t{0}, size / 2, size - 1}) {
      std::vector<double> counts(buckets), expected(buckets);
      for (uint64_t i = 0; i < buckets; ++i) {
        // Of the values of bucket i: ⌈i·size/buckets⌉ … ⌈(i+1)·size/buckets⌉ − 1.
        uint64_t begin = (i * size + buckets - 1) / buckets;
        uint64_t end = ((i + 1) * size + buckets - 1) / buckets;
        expected[i] =
            kSeeds * static_cast<double>(end - begin) / static_cast<double>(size);
      }
      ForEachSeed(size, [&](const Permutation& p) {
        ++counts[p.Forward(place) * buckets / size];
      });
      EXPECT_LT(ChiSquareSigmas(counts, expected), kSigmas) << size << " at " << place;
    }
  }
}

TEST(PermutationQuality, EveryPermutationOfFourIsAsLikely) {
  std::vector<double> counts(256);
  ForEachSeed(4, [&](const Permutation& p) {
    ++counts[p.Forward(0) * 64 + p.Forward(1) * 16 + p.Forward(2) * 4 + p.Forward(3)];
  });
  std::erase(counts, 0);
  ASSERT_EQ(counts.size(), 24U);
  EXPECT_LT(UniformSigmas(counts), kSigmas);
}

// How often two different values fall into buckets i and j of 8.
double PairsExpected(uint64_t size, uint64_t i, uint64_t j) {
  auto members = [size](uint64_t k) {
    return static_cast<double>(((k + 1) * size + 7) / 8 - (k * size + 7) / 8);
  };
  double n = static_cast<double>(size);
  return kSeeds * members(i) * (members(j) - (i == j ? 1 : 0)) / (n * (n - 1));
}

// Pairs that share a half of the network's input are where a short network shows.
TEST(PermutationQuality, PairsAreIndependent) {
  for (uint64_t size :
       {uint64_t{300}, uint64_t{4099}, uint64_t{32'768}, uint64_t{1} << 30}) {
    uint64_t b = Permutation({.size = size}).network().b;
    for (uint64_t other : {uint64_t{1}, b, b + 1}) {
      std::vector<double> counts(64), expected(64);
      for (uint64_t i = 0; i < 64; ++i) expected[i] = PairsExpected(size, i / 8, i % 8);
      ForEachSeed(size, [&](const Permutation& p) {
        ++counts[p.Forward(0) * 8 / size * 8 + p.Forward(other) * 8 / size];
      });
      EXPECT_LT(ChiSquareSigmas(counts, expected), kSigmas) << size << " 0 and " << other;
    }
  }
}

// f(0) − f(1) − f(b) + f(b+1): the relation that gives away a network of few rounds.
TEST(PermutationQuality, SquaresOfInputsHaveNoRelation) {
  for (uint64_t size : {uint64_t{1000}, uint64_t{32'768}, uint64_t{1} << 20}) {
    uint64_t b = Permutation({.size = size}).network().b;
    std::vector<double> counts(50);
    ForEachSeed(size, [&](const Permutation& p) {
      uint64_t sum =
          p.Forward(0) + 2 * size - p.Forward(1) - p.Forward(b) + p.Forward(b + 1);
      ++counts[sum % size * 50 / size];
    });
    EXPECT_LT(UniformSigmas(counts), kSigmas) << size;
  }
}

TEST(PermutationQuality, NeighboursLandFarApart) {
  for (uint64_t size : {uint64_t{5000}, uint64_t{65'537}, uint64_t{1} << 34}) {
    std::vector<double> counts(64);
    std::vector<uint64_t> rows(4097);
    for (uint64_t seed = 0; seed < 100; ++seed) {
      Permutation({.size = size, .seed = seed}).ForwardRange(0, rows);
      for (size_t i = 0; i + 1 < rows.size(); ++i) {
        uint64_t step = (rows[i + 1] + size - rows[i]) % size;
        ++counts[static_cast<unsigned __int128>(step) * 64 / size];
      }
    }
    EXPECT_LT(UniformSigmas(counts), kSigmas) << size;
  }
}

uint64_t Inversions(std::vector<uint64_t> values) {
  uint64_t count = 0;
  std::vector<uint64_t> merged(values.size());
  for (size_t width = 1; width < values.size(); width *= 2) {
    for (size_t low = 0; low < values.size(); low += 2 * width) {
      size_t middle = std::min(low + width, values.size());
      size_t high = std::min(low + 2 * width, values.size());
      size_t i = low, j = middle;
      for (size_t k = low; k < high; ++k) {
        bool right = i == middle || (j < high && values[j] < values[i]);
        if (right) count += middle - i;
        merged[k] = right ? values[j++] : values[i++];
      }
    }
    values.swap(merged);
  }
  return count;
}

TEST(PermutationQuality, InversionsAreThoseOfAShuffle) {
  for (uint64_t size : {10, 256, 257, 600}) {
    double n = static_cast<double>(size), sum = 0, squares = 0;
    double mean = n * (n - 1) / 4, variance = n * (n - 1) * (2 * n + 5) / 72;
    ForEachSeed(size, [&](const Permutation& p) {
      std::vector<uint64_t> rows(size);
      p.ForwardRange(0, rows);
      double deviation = static_cast<double>(Inversions(rows)) - mean;
      sum += deviation;
      squares += deviation * deviation;
    });
    EXPECT_LT(std::abs(sum / std::sqrt(variance * kSeeds)), kSigmas) << size;
    // The sample variance of a near-normal statistic spreads by √(2/seeds).
    EXPECT_LT(std::abs(squares / (variance * kSeeds) - 1),
              kSigmas * std::sqrt(2.0 / kSeeds))
        << size;
  }
}

TEST(PermutationQuality, CyclesFixedPointsAndParityAreThoseOfAShuffle) {
  for (uint64_t size : {100, 257, 600}) {
    double fixed = 0, cycles = 0, odd = 0, harmonic = 0, harmonic2 = 0;
    for (uint64_t i = 1; i <= size; ++i) {
      harmonic += 1.0 / static_cast<double>(i);
      harmonic2 += 1.0 / static_cast<double>(i * i);
    }
    ForEachSeed(size, [&](const Permutation& p) {
      std::vector<uint64_t> rows(size);
      p.ForwardRange(0, rows);
      std::vector<bool> seen(size);
      uint64_t count = 0;
      for (uint64_t i = 0; i < size; ++i) {
        fixed += rows[i] == i;
        if (seen[i]) continue;
        ++count;
        for (uint64_t at = i; !seen[at]; at = rows[at]) seen[at] = true;
      }
      cycles += static_cast<double>(count);
      odd += (size - count) % 2;
    });
    EXPECT_LT(std::abs(fixed - kSeeds), kSigmas * std::sqrt(kSeeds)) << size;
    EXPECT_LT(std::abs(odd - kSeeds / 2.0), kSigmas * std::sqrt(kSeeds / 4.0)) << size;
    EXPECT_LT(std::abs(cycles - harmonic * kSeeds),
              kSigmas * std::sqrt((harmonic - harmonic2) * kSeeds))
        << size;
  }
}

TEST(PermutationQuality, BatchesDrawFromAllRangesAlike) {
  constexpr uint64_t kRows = 10'000'019;
  std::vector<double> counts(40);
  std::vector<uint64_t> rows(256);
  ForEachSeed(kRows, [&](const Permutation& p) {
    p.ForwardRange(512, rows);
    for (uint64_t row : rows) ++counts[row * 40 / kRows];
  });
  EXPECT_LT(UniformSigmas(counts), kSigmas);
}

TEST(PermutationQuality, NeighbouringSeedsAndEpochsAreUnrelated) {
  std::vector<double> seeds(64), epochs(64);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Permutation here({.size = 1'000'000, .seed = seed, .epoch = 0});
    Permutation next({.size = 1'000'000, .seed = seed + 1, .epoch = 0});
    Permutation later({.size = 1'000'000, .seed = seed, .epoch = 1});
    uint64_t bucket = here.Forward(17) * 8 / 1'000'000 * 8;
    ++seeds[bucket + next.Forward(17) * 8 / 1'000'000];
    ++epochs[bucket + later.Forward(17) * 8 / 1'000'000];
  }
  EXPECT_LT(UniformSigmas(seeds), kSigmas);
  EXPECT_LT(UniformSigmas(epochs), kSigmas);
}

}  // namespace
}  // namespace forebay::plan
