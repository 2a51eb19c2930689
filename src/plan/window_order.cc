#include "plan/window_order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"

namespace forebay::plan {
namespace {

// Positions are worked on in blocks that stay in the first-level cache.
constexpr size_t kBlock = 1024;

// A seed for each permutation of an epoch. The layout is not in it: only how the rows are
// cut decides, not what they are.
uint64_t DeriveSeed(const WindowOrder::Options& options, std::string_view purpose,
                    uint64_t window) {
  Encoder input;
  input.PutString("forebay window 1");
  input.PutString(purpose);
  input.Put(options.seed);
  input.Put(options.epoch);
  input.Put(window);
  return HashBytes(input.bytes()).low;
}

// The last of `count` ascending values that is not above `x`; the first never is. Without
// branches, so that the searches of neighbouring rows overlap.
inline size_t LastNotAbove(const uint64_t* values, size_t count, uint64_t x) {
  const uint64_t* at = values;
  while (count > 1) {
    size_t half = count / 2;
    at += at[half] <= x ? half : 0;
    count -= half;
  }
  return static_cast<size_t>(at - values);
}

}  // namespace

WindowOrder::WindowOrder(Options options)
    : options_(std::move(options)),
      slots_({.size = layout().live_count(), .seed = DeriveSeed(options_, "ranges", 0)}),
      starts_(std::make_unique_for_overwrite<uint64_t[]>(slots_.size() + 1)),
      to_rows_(std::make_unique_for_overwrite<uint64_t[]>(slots_.size())) {
  uint64_t slot_count = slots_.size();
  slots_.ForwardRange(0, {to_rows_.get(), slot_count});
  window_begins_.reserve(slot_count / options_.window_ranges + 2);
  uint64_t position = 0, until_window = 0;
  for (uint64_t slot = 0; slot < slot_count; ++slot) {
    if (until_window == 0) {
      window_begins_.push_back(position);
      until_window = options_.window_ranges;
    }
    --until_window;
    auto live = static_cast<uint32_t>(to_rows_[slot]);
    starts_[slot] = position;
    to_rows_[slot] = layout().FirstRow(live) - position;
    position += layout().RowCount(live);
  }
  starts_[slot_count] = position;
  window_begins_.push_back(position);
}

uint64_t WindowOrder::WindowOf(uint64_t position) const {
  return LastNotAbove(window_begins_.data(), window_begins_.size(), position);
}

WindowOrder::Opened WindowOrder::Open(uint64_t window) const {
  uint64_t begin = window_begins_[window], end = window_begins_[window + 1];
  uint64_t first_slot = window * options_.window_ranges;
  uint64_t slot_count = std::min(options_.window_ranges, slots_.size() - first_slot);
  return {
      begin, end, first_slot, slot_count,
      Permutation({.size = end - begin, .seed = DeriveSeed(options_, "rows", window)})};
}

void WindowOrder::ToRowsIn(const Opened& window, std::span<uint64_t> positions) const {
  for (uint64_t& value : positions) value -= window.begin;
  window.rows.ForwardMany(positions);
  const uint64_t* starts = starts_.get() + window.first_slot;
  const uint64_t* to_rows = to_rows_.get() + window.first_slot;
  for (uint64_t& value : positions) {
    uint64_t unshuffled = value + window.begin;
    value = unshuffled + to_rows[LastNotAbove(starts, window.slot_count, unshuffled)];
  }
}

void WindowOrder::RowsAt(uint64_t first, std::span<uint64_t> out) const {
  while (!out.empty()) {
    Opened window = Open(WindowOf(first));
    auto part = out.first(std::min<uint64_t>(out.size(), window.end - first));
    out = out.subspan(part.size());
    while (!part.empty()) {
      auto block = part.first(std::min(part.size(), kBlock));
      std::iota(block.begin(), block.end(), first);
      ToRowsIn(window, block);
      first += block.size();
      part = part.subspan(block.size());
    }
  }
}

void WindowOrder::ToRows(std::span<uint64_t> positions) const {
  while (!positions.empty()) {
    Opened window = Open(WindowOf(positions.front()));
    size_t count = 1;
    while (count < std::min(positions.size(), kBlock) &&
           positions[count] >= window.begin && positions[count] < window.end) {
      ++count;
    }
    ToRowsIn(window, positions.first(count));
    positions = positions.subspan(count);
  }
}

void WindowOrder::ToPositions(std::span<uint64_t> rows) const {
  std::optional<Opened> window;
  while (!rows.empty()) {
    uint32_t live = layout().LiveOfRow(rows.front());
    uint64_t slot = slots_.Inverse(live);
    if (!window || slot - window->first_slot >= window->slot_count) {
      window = Open(slot / options_.window_ranges);
    }
    // Rows of one range that follow each other go through together.
    uint64_t first = layout().FirstRow(live), row_count = layout().RowCount(live);
    size_t count = 0;
    while (count < rows.size() && rows[count] - first < row_count) {
      rows[count++] -= to_rows_[slot] + window->begin;
    }
    auto part = rows.first(count);
    window->rows.InverseMany(part);
    for (uint64_t& value : part) value += window->begin;
    rows = rows.subspan(count);
  }
}

std::vector<uint32_t> WindowOrder::RangesOf(uint64_t window) const {
  uint64_t first_slot = window * options_.window_ranges;
  uint64_t count = std::min(options_.window_ranges, slots_.size() - first_slot);
  std::vector<uint64_t> lives(count);
  slots_.ForwardRange(first_slot, lives);
  std::vector<uint32_t> ranges;
  ranges.reserve(count);
  for (uint64_t live : lives) {
    ranges.push_back(layout().RangeOfLive(static_cast<uint32_t>(live)));
  }
  return ranges;
}

}  // namespace forebay::plan
