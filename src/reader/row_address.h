// Where a row lies: which source (row range of the manifest) and which row of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/manifest.h"

namespace forebay::reader {

struct RowAddress {
  uint32_t source = 0;
  uint32_t row = 0;

  friend bool operator==(const RowAddress&, const RowAddress&) = default;
};

// Rows of the table → (range, row in range), a few nanoseconds each: a table indexed by
// the row's high bits says where to start looking. Read-only after construction.
class RowLocator {
 public:
  explicit RowLocator(std::span<const model::RangeRecord> ranges);

  uint64_t row_count() const { return first_rows_.back(); }
  // `row` below row_count().
  RowAddress Locate(uint64_t row) const;
  // out[i] for rows[i]; `out` at least as long as `rows`.
  void Locate(std::span<const uint64_t> rows, std::span<RowAddress> out) const;

 private:
  std::vector<uint64_t> first_rows_;  // of each range, then the row count
  std::vector<uint32_t> starts_;      // row >> shift_ → a range at or before its own
  int shift_ = 0;
};

}  // namespace forebay::reader
