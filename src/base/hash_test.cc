#include "base/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace forebay {
namespace {

std::string RandomBytes(std::mt19937& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(Hash, IsXxh3) {
  // The published value for no bytes and seed 0. Stores on disk depend on it.
  EXPECT_EQ(HashBytes("").ToHex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, IsTheSameInPiecesAsInOne) {
  constexpr uint32_t kSeed = 3;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = RandomBytes(random, random() % 5000);
    uint64_t seed = random();
    Hasher hasher(seed);
    for (size_t at = 0; at < bytes.size();) {
      size_t size = std::min<size_t>(random() % 700, bytes.size() - at);
      hasher.Update(std::string_view(bytes).substr(at, size));
      at += size;
    }
    ASSERT_EQ(hasher.Digest(), HashBytes(bytes, seed)) << "seed " << kSeed;
  }
}

TEST(Hash, DependsOnEveryBitAndOnTheSeed) {
  std::string bytes(300, 'x');
  std::set<Hash128> seen = {HashBytes(bytes), HashBytes(bytes, 1),
                            HashBytes(bytes + 'x')};
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    seen.insert(HashBytes(other));
  }
  EXPECT_EQ(seen.size(), 3 + bytes.size() * 8);
}

TEST(Hash, ReadsOnlyTheHexItWrites) {
  Hash128 hash = HashBytes("x");
  std::string hex = hash.ToHex();
  EXPECT_EQ(hex.size(), 32U);
  EXPECT_EQ(Hash128::FromHex(hex), hash);
  EXPECT_EQ(Hash128::FromHex(std::string(32, '0')), (Hash128{0, 0}));
  EXPECT_FALSE(Hash128::FromHex(hex.substr(1)));
  EXPECT_FALSE(Hash128::FromHex(hex + "0"));
  EXPECT_FALSE(Hash128::FromHex(std::string(32, 'A')));
  EXPECT_FALSE(Hash128::FromHex("-" + std::string(31, '1')));
  EXPECT_FALSE(Hash128::FromHex(std::string(31, '1') + "g"));
}

}  // namespace
}  // namespace forebay
