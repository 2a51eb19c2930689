// The arithmetic of the `window` order: the row ranges are permuted, cut into windows of
// W ranges that follow each other, and rows are permuted inside each window. So an epoch
// reads every range once, and W ranges at a time are enough.
//
// Making one costs a few nanoseconds and 16 bytes per range: 0.6 ms for 100,000 ranges.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/permutation.h"
#include "plan/range_layout.h"

namespace forebay::plan {

// Read-only after construction; safe to use from many threads.
class WindowOrder {
 public:
  // `window_ranges` at least 1.
  struct Options {
    std::shared_ptr<const RangeLayout> layout{};
    uint64_t window_ranges = 1;
    uint64_t seed = 0;
    uint64_t epoch = 0;
  };
  explicit WindowOrder(Options options);

  uint64_t rows() const { return layout().rows(); }
  const RangeLayout& layout() const { return *options_.layout; }

  // Rows of the positions first, first + 1, …, all below rows().
  void RowsAt(uint64_t first, std::span<uint64_t> out) const;
  // In place. Positions that follow each other in one window, and rows that do in one
  // range, cost least.
  void ToRows(std::span<uint64_t> positions) const;
  void ToPositions(std::span<uint64_t> rows) const;

  uint64_t window_count() const { return window_begins_.size() - 1; }
  // `position` below rows().
  uint64_t WindowOf(uint64_t position) const;
  // The first position of a window; for window_count() the number of rows.
  uint64_t WindowBegin(uint64_t window) const { return window_begins_[window]; }
  // The ranges of a window, as numbers of the manifest.
  std::vector<uint32_t> RangesOf(uint64_t window) const;
  // The window a live range (RangeLayout) lies in.
  uint64_t WindowOfLive(uint32_t live) const {
    return slots_.Inverse(live) / options_.window_ranges;
  }

 private:
  // A window made ready: its slots and the permutation of its rows.
  struct Opened {
    uint64_t begin;  // positions
    uint64_t end;
    uint64_t first_slot;
    uint64_t slot_count;
    Permutation rows;
  };
  Opened Open(uint64_t window) const;
  // In place: positions of the window become rows.
  void ToRowsIn(const Opened& window, std::span<uint64_t> positions) const;

  Options options_;
  Permutation slots_;  // slot in the epoch → live range
  // Of each slot: the position its rows would begin at if windows were not shuffled, then
  // the number of rows; and what to add to such a position to have the row.
  std::unique_ptr<uint64_t[]> starts_;
  std::unique_ptr<uint64_t[]> to_rows_;
  std::vector<uint64_t> window_begins_;
};

}  // namespace forebay::plan
