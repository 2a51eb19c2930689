// The row ranges of a version as orders see them: how many live rows each has. Made once
// per version and shared by the orders of all its epochs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"
#include "model/manifest.h"

namespace forebay::plan {

// Read-only after construction. Ranges without live rows are no part of any order: they
// keep their number in the manifest, and are skipped everywhere else.
class RangeLayout {
 public:
  // Live rows of each range, in the manifest's order.
  static std::shared_ptr<const RangeLayout> Of(std::span<const uint64_t> row_counts);
  static std::shared_ptr<const RangeLayout> Of(const model::Manifest& manifest);

  uint64_t rows() const { return first_rows_.back(); }
  // Of the manifest, those without live rows too.
  uint32_t range_count() const { return range_count_; }
  // Names the counts of all ranges with live rows. Two layouts with one hash give the
  // same window orders.
  const Hash128& hash() const { return hash_; }

  // Ranges with live rows, numbered without gaps.
  uint32_t live_count() const { return static_cast<uint32_t>(ranges_.size()); }
  uint32_t RangeOfLive(uint32_t live) const { return ranges_[live]; }
  uint64_t FirstRow(uint32_t live) const { return first_rows_[live]; }
  uint64_t RowCount(uint32_t live) const {
    return first_rows_[live + 1] - first_rows_[live];
  }
  // `row` below rows().
  uint32_t LiveOfRow(uint64_t row) const;
  // kNone for a range of the manifest that has no live rows.
  uint32_t LiveOfRange(uint32_t range) const;
  static constexpr uint32_t kNone = ~uint32_t{0};

 private:
  explicit RangeLayout(std::span<const uint64_t> row_counts);

  std::vector<uint64_t> first_rows_;  // of each live range, then rows()
  std::vector<uint32_t> ranges_;      // live → number in the manifest, ascending
  uint32_t range_count_ = 0;
  Hash128 hash_;
};

}  // namespace forebay::plan
