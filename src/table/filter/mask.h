// Rows of a batch, one bit each.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace forebay::table::filter {

// The first row lowest; bits past the end are 0.
using Mask = std::vector<uint64_t>;

constexpr int64_t kWordRows = 64;

inline size_t MaskWords(int64_t rows) {
  return static_cast<size_t>((rows + kWordRows - 1) / kWordRows);
}

// Bits of the word that stand for rows.
inline uint64_t RowsOfWord(size_t word, int64_t rows) {
  int64_t left = rows - static_cast<int64_t>(word) * kWordRows;
  return left >= kWordRows ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
}

inline Mask FullMask(int64_t rows) {
  Mask mask(MaskWords(rows), ~uint64_t{0});
  if (!mask.empty()) mask.back() = RowsOfWord(mask.size() - 1, rows);
  return mask;
}

inline void Invert(Mask* mask, int64_t rows) {
  for (size_t i = 0; i < mask->size(); ++i) {
    (*mask)[i] = ~(*mask)[i] & RowsOfWord(i, rows);
  }
}

// 64 bytes of 0 or 1 become bits: each factor of the product moves one byte's bit to its
// place in the top byte.
inline uint64_t PackBits(const uint8_t* bytes) {
  uint64_t word = 0;
  for (int i = 0; i < 8; ++i) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes + i * 8, 8);
    word |= ((eight * 0x0102040810204080) >> 56) << (i * 8);
  }
  return word;
}

// Asks `test(row)` of every row. Tests without branches become vector code, because they
// fill bytes first.
template <typename Test>
Mask FillMask(int64_t rows, const Test& test) {
  Mask mask(MaskWords(rows));
  uint8_t bytes[kWordRows];
  int64_t row = 0;
  for (; row + kWordRows <= rows; row += kWordRows) {
    for (int64_t i = 0; i < kWordRows; ++i) bytes[i] = test(row + i) ? 1 : 0;
    mask[static_cast<size_t>(row / kWordRows)] = PackBits(bytes);
  }
  for (; row < rows; ++row) {
    if (test(row))
      mask[static_cast<size_t>(row / kWordRows)] |= uint64_t{1} << (row % kWordRows);
  }
  return mask;
}

}  // namespace forebay::table::filter
