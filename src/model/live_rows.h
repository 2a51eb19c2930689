// Which rows of a file, or of a range, are part of a version.
#pragma once

#include <cstdint>
#include <vector>

namespace forebay::model {

// One bit a row, the first row lowest; bits past the end are 0. No words: all rows.
struct LiveRows {
  uint64_t row_count = 0;
  std::vector<uint64_t> words{};

  bool all() const { return words.empty(); }
  // Makes room for kills: all bits set.
  void Materialize();
  // `row` below row_count; materialized.
  void Kill(uint64_t row) { words[row / 64] &= ~(uint64_t{1} << (row % 64)); }
  bool Alive(uint64_t row) const {
    return all() || ((words[row / 64] >> (row % 64)) & 1) != 0;
  }
  uint64_t Count() const;
  // Adds the rows of `next` after these.
  void Append(const LiveRows& next);
  // Rows [first, first + count); no words when all of them live.
  LiveRows Slice(uint64_t first, uint64_t count) const;
};

}  // namespace forebay::model
