#include "plan/permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/status.h"
#include "plan/feistel.h"

namespace forebay::plan {
namespace {

// Where a network is small each round mixes little and speed does not matter.
constexpr uint64_t kSmallSize = uint64_t{1} << 15;
constexpr int kRounds = 6;
constexpr int kRoundsSmall = 12;
// Values are worked on in blocks that stay in the first-level cache.
constexpr size_t kBlock = 1024;

// The stream of random bits behind one permutation: XXH3 of (purpose, options, counter).
// Seed and epoch are hashed together, never added, so neighbours have nothing in common.
class KeyStream {
 public:
  explicit KeyStream(const Permutation::Options& options) : options_(options) {}

  uint64_t Next() {
    Encoder input;
    input.PutString("forebay order 1");
    input.Put(options_.seed);
    input.Put(options_.epoch);
    input.Put(options_.size);
    input.Put(counter_++);
    return HashBytes(input.bytes()).low;
  }

  // Uniform in [0, bound): draws that would favour small values are thrown away.
  uint64_t Below(uint64_t bound) {
    uint64_t unfair = -bound % bound;
    for (;;) {
      auto product = static_cast<unsigned __int128>(Next()) * bound;
      if (static_cast<uint64_t>(product) >= unfair) return product >> 64;
    }
  }

 private:
  Permutation::Options options_;
  uint64_t counter_ = 0;
};

uint64_t CeilSqrt(uint64_t x) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)));
  while (root * root < x) ++root;
  while (root > 0 && (root - 1) * (root - 1) >= x) --root;
  return root;
}

Permutation::Network MakeNetwork(const Permutation::Options& options) {
  Permutation::Network net;
  net.size = options.size;
  net.a = CeilSqrt(options.size);
  net.a += net.a % 2;  // with two odd radices only even permutations would occur
  net.b = (options.size + net.a - 1) / net.a;
  net.b_reciprocal = 1.0 / static_cast<double>(net.b);
  net.rounds = options.size < kSmallSize ? kRoundsSmall : kRounds;
  KeyStream stream(options);
  for (int i = 0; i < net.rounds; ++i) {
    uint64_t bits = stream.Next();
    net.keys[i] = {.input = bits & 0xFFFFFFFF, .middle = bits >> 32};
  }
  return net;
}

void FisherYates(const Permutation::Options& options, std::span<uint8_t> out) {
  KeyStream stream(options);
  std::iota(out.begin(), out.end(), uint8_t{0});
  for (uint64_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[stream.Below(i)]);
}

}  // namespace

Permutation::Permutation(Options options) : size_(options.size) {
  FB_CHECK(size_ <= kRowsMax);
  if (size_ > kTableMax) {
    network_ = MakeNetwork(options);
    return;
  }
  FisherYates(options, std::span(forward_).first(size_));
  for (uint64_t i = 0; i < size_; ++i) inverse_[forward_[i]] = static_cast<uint8_t>(i);
}

uint64_t Permutation::Forward(uint64_t x) const {
  if (size_ <= kTableMax) return forward_[x];
  do {
    x = feistel::Forward(network_, x);
  } while (x >= size_);
  return x;
}

uint64_t Permutation::Inverse(uint64_t y) const {
  if (size_ <= kTableMax) return inverse_[y];
  do {
    y = feistel::Inverse(network_, y);
  } while (y >= size_);
  return y;
}

void Permutation::ForwardMany(std::span<uint64_t> values) const {
  if (size_ <= kTableMax) {
    for (uint64_t& value : values) value = forward_[value];
    return;
  }
  while (!values.empty()) {
    auto block = values.first(std::min(values.size(), kBlock));
    feistel::Best().forward(network_, block.data(), block.size());
    for (uint64_t& value : block) {
      if (value >= size_) [[unlikely]]
        value = Forward(value);
    }
    values = values.subspan(block.size());
  }
}

void Permutation::InverseMany(std::span<uint64_t> values) const {
  if (size_ <= kTableMax) {
    for (uint64_t& value : values) value = inverse_[value];
    return;
  }
  while (!values.empty()) {
    auto block = values.first(std::min(values.size(), kBlock));
    feistel::Best().inverse(network_, block.data(), block.size());
    for (uint64_t& value : block) {
      if (value >= size_) [[unlikely]]
        value = Inverse(value);
    }
    values = values.subspan(block.size());
  }
}

void Permutation::ForwardRange(uint64_t first, std::span<uint64_t> out) const {
  while (!out.empty()) {
    auto block = out.first(std::min(out.size(), kBlock));
    std::iota(block.begin(), block.end(), first);
    ForwardMany(block);
    first += block.size();
    out = out.subspan(block.size());
  }
}

}  // namespace forebay::plan
