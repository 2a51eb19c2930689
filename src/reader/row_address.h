// Where a row lies: which source (row range of the manifest) and which row of its chunks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/manifest.h"

namespace forebay::reader {

using RowAddress = model::RangeRow;

// Rows side by side in the chunks of one source.
struct Run {
  uint32_t source = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

// The runs of `count` live rows of a range, from the live row `at` on.
void AppendRuns(const model::Manifest& manifest, RowAddress at, uint64_t count,
                std::vector<Run>* runs);

// Rows of the version → (range, row in its chunks), a few nanoseconds each: a table
// indexed by the row's high bits says where to start looking. Read-only after
// construction.
class RowLocator {
 public:
  // `selections`: one per range, or none where every row of every range lives.
  explicit RowLocator(std::span<const model::RangeRecord> ranges,
                      std::vector<model::Selection> selections = {});
  explicit RowLocator(const model::Manifest& manifest);

  uint64_t row_count() const { return first_rows_.back(); }
  // Which live row of which range; `row` below row_count().
  RowAddress LocateLive(uint64_t row) const;
  // out[i] for rows[i]; `out` at least as long as `rows`.
  void Locate(std::span<const uint64_t> rows, std::span<RowAddress> out) const;

 private:
  std::vector<uint64_t> first_rows_;  // of each range, then the row count
  std::vector<uint32_t> starts_;      // row >> shift_ → a range at or before its own
  std::vector<model::Selection> selections_;
  int shift_ = 0;
};

}  // namespace forebay::reader
