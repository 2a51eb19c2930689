#include "plan/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "plan/feistel.h"

namespace forebay::plan {
namespace {

std::vector<uint64_t> AllOf(const Permutation& permutation) {
  std::vector<uint64_t> out(permutation.size());
  permutation.ForwardRange(0, out);
  return out;
}

bool IsBijection(const std::vector<uint64_t>& values) {
  std::vector<bool> seen(values.size());
  for (uint64_t value : values) {
    if (value >= values.size() || seen[value]) return false;
    seen[value] = true;
  }
  return true;
}

// Sizes on both sides of the powers of two, where rounding would go wrong.
std::vector<uint64_t> EdgeSizes() {
  std::vector<uint64_t> sizes;
  for (int k = 9; k <= 48; ++k) {
    for (int difference : {-1, 0, 1}) {
      uint64_t size = (uint64_t{1} << k) + static_cast<uint64_t>(difference);
      if (size <= kRowsMax) sizes.push_back(size);
    }
  }
  return sizes;
}

TEST(Permutation, IsABijectionForEverySmallSize) {
  for (uint64_t size = 0; size <= 2500; ++size) {
    EXPECT_TRUE(IsBijection(AllOf(Permutation({.size = size, .seed = 3})))) << size;
  }
}

TEST(Permutation, IsABijectionForSizesInTheMiddle) {
  for (uint64_t size = 2501; size <= (1 << 16) + 400; size += 397) {
    EXPECT_TRUE(IsBijection(AllOf(Permutation({.size = size, .seed = 5})))) << size;
  }
  for (uint64_t size : {65535, 65536, 65537, 999'999, 1 << 20, (1 << 20) + 1}) {
    EXPECT_TRUE(IsBijection(AllOf(Permutation({.size = size, .seed = 6})))) << size;
  }
}

TEST(Permutation, InvertsExactlyAtEverySize) {
  std::vector<uint64_t> sizes = EdgeSizes();
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i)
    sizes.push_back(random() % (kRowsMax >> (random() % 40)) + 1);
  for (uint64_t size : sizes) {
    Permutation permutation({.size = size, .seed = random(), .epoch = 1});
    std::vector<uint64_t> positions(67);
    for (uint64_t& position : positions) position = random() % size;
    positions[0] = 0;
    positions[1] = size - 1;
    std::vector<uint64_t> rows = positions;
    permutation.ForwardMany(rows);
    for (uint64_t row : rows) ASSERT_LT(row, size);
    permutation.InverseMany(rows);
    EXPECT_EQ(rows, positions) << size;
  }
}

TEST(Permutation, GivesTheSameOneByOneAndInBatches) {
  for (uint64_t size : {uint64_t{100}, uint64_t{1000}, uint64_t{70'000}, kRowsMax - 5}) {
    Permutation permutation({.size = size, .seed = 1, .epoch = 2});
    std::vector<uint64_t> range(90);
    permutation.ForwardRange(10, range);
    for (size_t i = 0; i < range.size(); ++i) {
      EXPECT_EQ(range[i], permutation.Forward(10 + i));
      EXPECT_EQ(permutation.Inverse(range[i]), 10 + i);
    }
  }
}

TEST(Permutation, GivesTheSameWithEveryInstructionSet) {
  std::mt19937_64 random(12);
  for (uint64_t size : EdgeSizes()) {
    Permutation::Network net = Permutation({.size = size, .seed = size}).network();
    std::vector<uint64_t> input(101);
    for (uint64_t& x : input) x = random() % (net.a * net.b);
    input[0] = net.a * net.b - 1;
    for (size_t k = 0; k < feistel::KernelCount(); ++k) {
      const feistel::Kernels& kernels = feistel::KernelAt(k);
      std::vector<uint64_t> values = input;
      kernels.forward(net, values.data(), values.size());
      for (size_t i = 0; i < input.size(); ++i) {
        ASSERT_EQ(values[i], feistel::Forward(net, input[i])) << kernels.name << size;
      }
      kernels.inverse(net, values.data(), values.size());
      EXPECT_EQ(values, input) << kernels.name << " " << size;
    }
  }
}

TEST(Permutation, DependsOnSeedEpochAndSize) {
  auto first = AllOf(Permutation({.size = 5000, .seed = 1, .epoch = 1}));
  EXPECT_EQ(first, AllOf(Permutation({.size = 5000, .seed = 1, .epoch = 1})));
  EXPECT_NE(first, AllOf(Permutation({.size = 5000, .seed = 1, .epoch = 2})));
  // Seeds are hashed, not added to epochs.
  auto other = AllOf(Permutation({.size = 5000, .seed = 2, .epoch = 0}));
  size_t agreements = 0;
  for (size_t i = 0; i < first.size(); ++i) agreements += first[i] == other[i];
  EXPECT_LT(agreements, 8U);
}

// Saved cursors depend on these values. A failure here means the order's format changed.
TEST(Permutation, KeepsItsValuesBetweenReleases) {
  auto head = [](uint64_t size) {
    std::vector<uint64_t> values(4);
    Permutation({.size = size, .seed = 7, .epoch = 3}).ForwardRange(0, values);
    return values;
  };
  using Values = std::vector<uint64_t>;
  EXPECT_EQ(head(10), (Values{2, 3, 7, 6}));
  EXPECT_EQ(head(1000), (Values{58, 194, 410, 433}));
  EXPECT_EQ(head(1'000'000), (Values{958059, 24519, 719590, 169007}));
  EXPECT_EQ(head(uint64_t{1} << 40),
            (Values{125789035214, 746004788067, 234026139486, 560912056909}));
}

}  // namespace
}  // namespace forebay::plan
