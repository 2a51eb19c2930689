// Bitmaps: validity and bool values, least significant bit first.
#pragma once

#include <cstdint>

namespace forebay::reader {

inline bool GetBit(const uint8_t* bits, uint64_t i) {
  return (bits[i / 8] >> (i % 8) & 1) != 0;
}

// Where bits go, how many, and where they come from.
struct BitCopy {
  uint8_t* to;
  uint64_t to_bit;
  const uint8_t* from;  // null: ones
  uint64_t from_bit;
  uint64_t count;
};

// Writes bits [to_bit, to_bit + count) and nothing else.
void CopyBits(BitCopy copy);

// Of the first `count` bits.
uint64_t CountZeroBits(const uint8_t* bits, uint64_t count);

}  // namespace forebay::reader
