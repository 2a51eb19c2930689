#include "plan/range_layout.h"

#include <algorithm>

#include "base/bytes.h"

namespace forebay::plan {

RangeLayout::RangeLayout(std::span<const uint64_t> row_counts)
    : range_count_(static_cast<uint32_t>(row_counts.size())) {
  Hasher hasher;
  hasher.Update("forebay ranges 1");
  uint64_t row = 0;
  first_rows_.push_back(0);
  for (uint32_t range = 0; range < range_count_; ++range) {
    uint64_t count = row_counts[range];
    if (count == 0) continue;
    hasher.Update(&count, sizeof(count));
    ranges_.push_back(range);
    first_rows_.push_back(row += count);
  }
  hash_ = hasher.Digest();
}

std::shared_ptr<const RangeLayout> RangeLayout::Of(std::span<const uint64_t> row_counts) {
  return std::shared_ptr<const RangeLayout>(new RangeLayout(row_counts));
}

std::shared_ptr<const RangeLayout> RangeLayout::Of(const model::Manifest& manifest) {
  std::vector<uint64_t> row_counts;
  row_counts.reserve(manifest.ranges().size());
  for (const model::RangeRecord& range : manifest.ranges()) {
    row_counts.push_back(range.row_count);
  }
  return Of(row_counts);
}

uint32_t RangeLayout::LiveOfRow(uint64_t row) const {
  auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
  return static_cast<uint32_t>(after - first_rows_.begin() - 1);
}

uint32_t RangeLayout::LiveOfRange(uint32_t range) const {
  auto found = std::lower_bound(ranges_.begin(), ranges_.end(), range);
  if (found == ranges_.end() || *found != range) return kNone;
  return static_cast<uint32_t>(found - ranges_.begin());
}

}  // namespace forebay::plan
