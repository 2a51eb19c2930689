// An exact keyed bijection on [0, size): the arithmetic behind the global order. Needs no
// arrays, so an epoch of 1e11 rows starts at once, and it inverts as fast as it runs.
//
// How: a mixed-radix Feistel network. x = l·b + r with a = ⌈√size⌉ rounded up to even and
// b = ⌈size/a⌉; rounds add a keyed hash of one half to the other, modulo its radix.
// Values that land in [size, a·b) are sent through again (at most about one in √size). Up
// to kTableMax values a Fisher–Yates table is used: there a network is not random enough.
//
// The values are a promise: a cursor saved by one release must mean the same rows in the
// next. permutation_test.cc pins some of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace forebay::plan {

constexpr uint64_t kRowsMax = uint64_t{1} << 48;

// Read-only after construction; a value, safe to use from many threads.
class Permutation {
 public:
  // `size` at most kRowsMax.
  struct Options {
    uint64_t size = 0;
    uint64_t seed = 0;
    uint64_t epoch = 0;
  };
  explicit Permutation(Options options);

  uint64_t size() const { return size_; }

  // x below size().
  uint64_t Forward(uint64_t x) const;
  uint64_t Inverse(uint64_t y) const;

  // In place, each value below size(). Several times faster per value than single calls.
  void ForwardMany(std::span<uint64_t> values) const;
  void InverseMany(std::span<uint64_t> values) const;
  // out[i] = Forward(first + i).
  void ForwardRange(uint64_t first, std::span<uint64_t> out) const;

  static constexpr uint64_t kTableMax = 256;
  static constexpr int kRoundsMax = 12;

  struct RoundKey {
    uint64_t input;   // 32 bits, mixed into the half that is hashed
    uint64_t middle;  // 32 bits, between the two multiplications of the hash
  };
  // The network's parameters, as the vector kernels take them.
  struct Network {
    uint64_t size = 0;
    uint64_t a = 1;  // radix of the left half, even
    uint64_t b = 1;
    double b_reciprocal = 1;
    int rounds = 0;  // even
    std::array<RoundKey, kRoundsMax> keys{};
  };
  const Network& network() const { return network_; }

 private:
  uint64_t size_;
  Network network_;
  std::array<uint8_t, kTableMax> forward_{};
  std::array<uint8_t, kTableMax> inverse_{};
};

}  // namespace forebay::plan
