// Sizes that follow from what a file claims about itself.
#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay::table {

// More than any memory; a sum of thousands of these still fits 64 bits.
constexpr uint64_t kClaimedBytesMax = uint64_t{1} << 50;
// Buffers of values and levels double as they fill.
constexpr uint64_t kBufferGrowth = 2;

// A huge claim must not wrap around to a small size.
inline uint64_t ClaimedProduct(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return kClaimedBytesMax;
  return std::min(product, kClaimedBytesMax);
}

// Of so many rows with so many bits each.
inline uint64_t ClaimedBytes(uint64_t rows, uint64_t bits) {
  return std::min((ClaimedProduct(rows, bits) + 7) / 8, kClaimedBytesMax);
}

}  // namespace forebay::table
