#include "reader/gather_bits.h"

#include <bit>
#include <cstring>

namespace forebay::reader {
namespace {

// 64 bits from bit `at` on; reads only the bytes that hold them.
uint64_t LoadBits(const uint8_t* from, uint64_t at) {
  uint64_t word;
  std::memcpy(&word, from + at / 8, sizeof(word));
  int shift = static_cast<int>(at % 8);
  if (shift == 0) return word;
  return word >> shift | uint64_t{from[at / 8 + 8]} << (64 - shift);
}

void CopyBit(const BitCopy& copy, uint64_t i) {
  uint64_t to = copy.to_bit + i;
  uint8_t mask = static_cast<uint8_t>(1U << (to % 8));
  bool one = copy.from == nullptr || GetBit(copy.from, copy.from_bit + i);
  copy.to[to / 8] = one ? copy.to[to / 8] | mask : copy.to[to / 8] & ~mask;
}

}  // namespace

void CopyBits(BitCopy copy) {
  uint64_t i = 0;
  for (; i < copy.count && (copy.to_bit + i) % 8 != 0; ++i) CopyBit(copy, i);
  for (; i + 64 <= copy.count; i += 64) {
    uint64_t word = copy.from ? LoadBits(copy.from, copy.from_bit + i) : ~uint64_t{0};
    std::memcpy(copy.to + (copy.to_bit + i) / 8, &word, sizeof(word));
  }
  for (; i < copy.count; ++i) CopyBit(copy, i);
}

uint64_t CountZeroBits(const uint8_t* bits, uint64_t count) {
  uint64_t ones = 0, i = 0;
  for (; i + 64 <= count; i += 64) {
    uint64_t word;
    std::memcpy(&word, bits + i / 8, sizeof(word));
    ones += static_cast<uint64_t>(std::popcount(word));
  }
  for (; i < count; ++i) ones += GetBit(bits, i);
  return count - ones;
}

}  // namespace forebay::reader
