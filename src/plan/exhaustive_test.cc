// Every size up to 2^16: two thousand million values, so this runs beside the other
// tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "plan/permutation.h"

namespace forebay::plan {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kStride = 41;  // sanitizers are slow, and look for other things
#else
constexpr uint64_t kStride = 1;
#endif

// One bit a value; no branches, so that two thousand million take seconds.
class Seen {
 public:
  void Clear(uint64_t size) { words_.assign(size / 64 + 1, 0); }
  void Add(uint64_t value) { words_[value / 64] |= uint64_t{1} << (value % 64); }
  bool All(uint64_t size) const {
    for (uint64_t i = 0; i < size / 64; ++i) {
      if (words_[i] != ~uint64_t{0}) return false;
    }
    return words_[size / 64] == (uint64_t{1} << (size % 64)) - 1;
  }

 private:
  std::vector<uint64_t> words_;
};

TEST(PermutationExhaustive, IsABijectionForEverySizeUpTo65536) {
  Seen seen;
  std::vector<uint64_t> block(2048);
  for (uint64_t size = 1; size <= 65'536; size += kStride) {
    Permutation permutation({.size = size, .seed = size * 977, .epoch = size % 7});
    seen.Clear(size);
    uint64_t largest = 0;
    for (uint64_t first = 0; first < size; first += block.size()) {
      block.resize(std::min<uint64_t>(2048, size - first));
      permutation.ForwardRange(first, block);
      for (uint64_t value : block) {
        largest = std::max(largest, value);
        seen.Add(value & 0xFFFF);
      }
    }
    block.resize(2048);
    ASSERT_LT(largest, size);
    ASSERT_TRUE(seen.All(size)) << size;
  }
}

// Beyond what can be counted out, a map that its inverse undoes everywhere it is tried.
TEST(PermutationExhaustive, IsUndoneByItsInverseForRandomSizesUpTo2To40) {
  std::mt19937_64 random(51);
  std::vector<uint64_t> sizes;
  for (int k = 16; k <= 40; ++k) {
    uint64_t power = uint64_t{1} << k;
    sizes.insert(sizes.end(), {power - 1, power, power + 1});
    for (int i = 0; i < 12; ++i) sizes.push_back(power + random() % power);
  }
  std::vector<uint64_t> values(4096);
  for (uint64_t size : sizes) {
    Permutation permutation({.size = size, .seed = random(), .epoch = random()});
    uint64_t first = random() % (size - values.size());
    permutation.ForwardRange(first, values);
    for (uint64_t value : values) ASSERT_LT(value, size);
    permutation.InverseMany(values);
    for (uint64_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], first + i) << size;
    for (uint64_t& value : values) value = random() % size;
    std::vector<uint64_t> rows = values;
    permutation.InverseMany(values);
    permutation.ForwardMany(values);
    ASSERT_EQ(values, rows) << size;
  }
}

}  // namespace
}  // namespace forebay::plan
