#include "reader/row_address.h"

#include <algorithm>
#include <bit>

namespace forebay::reader {
namespace {

// Ranges that share a table entry are walked up to here, then searched by halves.
constexpr uint32_t kWalkMax = 8;
// How many rows ahead the memory of selections is fetched.
constexpr size_t kAhead = 48;

std::vector<model::Selection> SelectionsOf(const model::Manifest& manifest) {
  std::vector<model::Selection> selections;
  bool any = false;
  for (const model::RangeRecord& range : manifest.ranges()) {
    any = any || range.selection_kind != model::SelectionKind::kAll;
    selections.push_back(manifest.selection(range));
  }
  if (!any) selections.clear();
  return selections;
}

}  // namespace

void AppendRuns(const model::Manifest& manifest, RowAddress at, uint64_t count,
                std::vector<Run>* runs) {
  model::Selection selection = manifest.selection(manifest.ranges()[at.source]);
  auto live = at.row;
  auto until = static_cast<uint32_t>(at.row + count);
  while (live < until) {
    uint32_t run = selection.RunAt(live, until - live);
    runs->push_back({at.source, selection.RowOf(live), run});
    live += run;
  }
}

RowLocator::RowLocator(const model::Manifest& manifest)
    : RowLocator(manifest.ranges(), SelectionsOf(manifest)) {}

RowLocator::RowLocator(std::span<const model::RangeRecord> ranges,
                       std::vector<model::Selection> selections)
    : selections_(std::move(selections)) {
  first_rows_.reserve(ranges.size() + 1);
  uint64_t row = 0;
  for (const model::RangeRecord& range : ranges) {
    first_rows_.push_back(row);
    row += range.row_count;
  }
  first_rows_.push_back(row);
  // About four entries a range: with ranges of like size nearly every look-up ends at
  // once.
  uint64_t entries = std::bit_ceil(ranges.size() * 4 + 1);
  while ((row >> shift_) >= entries) ++shift_;
  starts_.resize((row >> shift_) + 2);
  uint32_t range = 0;
  for (uint64_t i = 0; i < starts_.size(); ++i) {
    uint64_t first = i << shift_;
    while (range + 1 < ranges.size() && first_rows_[range + 1] <= first) ++range;
    starts_[i] = range;
  }
}

RowAddress RowLocator::LocateLive(uint64_t row) const {
  uint64_t entry = row >> shift_;
  uint32_t range = starts_[entry];
  if (starts_[entry + 1] - range > kWalkMax) {
    auto begin = first_rows_.begin() + range + 1;
    auto end = first_rows_.begin() + starts_[entry + 1] + 1;
    range = static_cast<uint32_t>(std::upper_bound(begin, end, row) -
                                  first_rows_.begin() - 1);
  } else {
    while (first_rows_[range + 1] <= row) ++range;
  }
  return {range, static_cast<uint32_t>(row - first_rows_[range])};
}

void RowLocator::Locate(std::span<const uint64_t> rows, std::span<RowAddress> out) const {
  if (selections_.empty()) {
    for (size_t i = 0; i < rows.size(); ++i) out[i] = LocateLive(rows[i]);
    return;
  }
  // What a selection needs is asked for kAhead rows before it is looked at.
  auto locate = [&](size_t i) {
    out[i] = LocateLive(rows[i]);
    selections_[out[i].source].PrefetchRow(out[i].row);
  };
  for (size_t i = 0; i < std::min(kAhead, rows.size()); ++i) locate(i);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) locate(i + kAhead);
    if (i + kAhead / 2 < rows.size()) {
      const RowAddress& near = out[i + kAhead / 2];
      selections_[near.source].PrefetchWord(near.row);
    }
    out[i].row = selections_[out[i].source].RowOf(out[i].row);
  }
}

}  // namespace forebay::reader
