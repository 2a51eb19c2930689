#include "plan/look_ahead.h"

#include <algorithm>
#include <numeric>

namespace forebay::plan {
namespace {

constexpr uint64_t kBlock = 1024;

// Collects ranges, each once, in the order they come.
class Collector {
 public:
  Collector(const RangeLayout& layout, size_t limit, std::vector<uint32_t>* out)
      : layout_(layout), limit_(limit), out_(out), seen_(layout.range_count()) {
    for (uint32_t range : *out) seen_[range] = true;
  }

  bool full() const {
    return out_->size() >= std::min<size_t>(limit_, layout_.live_count());
  }
  void AddRange(uint32_t range) {
    if (seen_[range] || full()) return;
    seen_[range] = true;
    out_->push_back(range);
  }
  void AddRow(uint64_t row) { AddRange(layout_.RangeOfLive(layout_.LiveOfRow(row))); }

 private:
  const RangeLayout& layout_;
  size_t limit_;
  std::vector<uint32_t>* out_;
  std::vector<bool> seen_;
};

// Calls look(rows) with the rows at [first, end), block by block, until it says false.
template <typename Look>
void ForEachBlock(const Order& order, uint64_t first, uint64_t end, Look look) {
  std::vector<uint64_t> rows;
  while (first < end) {
    rows.resize(std::min(kBlock, end - first));
    order.RowsAt(first, rows);
    if (!look(rows)) return;
    first += rows.size();
  }
}

}  // namespace

std::vector<uint32_t> LookAhead::RangesAt(uint64_t first, uint64_t count) const {
  std::vector<uint32_t> ranges;
  Collector collector(*options_.layout, SIZE_MAX, &ranges);
  const Order& order = options_.order;
  uint64_t end = std::min(first + count, rows());
  if (order.options().mode == OrderMode::kSequential) {
    const RangeLayout& layout = *options_.layout;
    while (first < end) {
      uint32_t live = layout.LiveOfRow(first);
      collector.AddRange(layout.RangeOfLive(live));
      first = layout.FirstRow(live) + layout.RowCount(live);
    }
    return ranges;
  }
  ForEachBlock(order, first, end, [&](const std::vector<uint64_t>& block) {
    for (uint64_t row : block) collector.AddRow(row);
    return !collector.full();
  });
  return ranges;
}

std::vector<uint32_t> LookAhead::NextRanges(uint64_t position, size_t limit) const {
  std::vector<uint32_t> ranges;
  if (position < rows()) AddNextRanges(options_.order, position, limit, &ranges);
  if (options_.next) {
    uint64_t into = position < rows() ? 0 : position - rows();
    if (into < rows()) AddNextRanges(*options_.next, into, limit, &ranges);
  }
  return ranges;
}

void LookAhead::AddNextRanges(const Order& order, uint64_t position, size_t limit,
                              std::vector<uint32_t>* ranges) const {
  const RangeLayout& layout = *options_.layout;
  Collector collector(layout, limit, ranges);
  if (const WindowOrder* windows = order.window()) {
    uint64_t window = windows->WindowOf(position);
    for (; window < windows->window_count() && !collector.full(); ++window) {
      for (uint32_t range : windows->RangesOf(window)) collector.AddRange(range);
    }
  } else if (order.options().mode == OrderMode::kSequential) {
    uint32_t live = layout.LiveOfRow(position);
    for (; live < layout.live_count() && !collector.full(); ++live) {
      collector.AddRange(layout.RangeOfLive(live));
    }
  } else {
    ForEachBlock(order, position, rows(), [&](const std::vector<uint64_t>& block) {
      for (uint64_t row : block) collector.AddRow(row);
      return !collector.full();
    });
  }
}

LookAhead::Span LookAhead::NeededIn(const Order& order, uint32_t live) const {
  if (const WindowOrder* windows = order.window()) {
    uint64_t window = windows->WindowOfLive(live);
    return {windows->WindowBegin(window), windows->WindowBegin(window + 1)};
  }
  if (order.options().mode == OrderMode::kGlobal) return {0, order.rows()};
  uint64_t first = options_.layout->FirstRow(live);
  return {first, first + options_.layout->RowCount(live)};
}

std::optional<uint64_t> LookAhead::NeededFrom(uint32_t range, uint64_t position) const {
  uint32_t live = options_.layout->LiveOfRange(range);
  if (live == RangeLayout::kNone) return std::nullopt;
  Span here = NeededIn(options_.order, live);
  if (position < here.end) return std::max(position, here.begin);
  if (!options_.next) return std::nullopt;
  Span next = NeededIn(*options_.next, live);
  if (position >= rows() + next.end) return std::nullopt;
  return std::max(position, rows() + next.begin);
}

uint64_t LookAhead::NeededUntil(uint32_t range) const {
  uint32_t live = options_.layout->LiveOfRange(range);
  return live == RangeLayout::kNone ? 0 : NeededIn(options_.order, live).end;
}

std::optional<uint64_t> LookAhead::NextUse(uint32_t range, uint64_t position) const {
  uint32_t live = options_.layout->LiveOfRange(range);
  if (live == RangeLayout::kNone) return std::nullopt;
  if (position < rows()) {
    if (auto use = FirstUse(options_.order, live, position)) return use;
  }
  if (!options_.next) return std::nullopt;
  uint64_t into = position < rows() ? 0 : position - rows();
  auto use = FirstUse(*options_.next, live, into);
  return use ? std::optional(rows() + *use) : std::nullopt;
}

// Looks at the positions ahead first: a range of n among N rows comes up after about N/n
// of them. Where n positions did not show it, its n rows are asked for their positions.
std::optional<uint64_t> LookAhead::FirstUse(const Order& order, uint32_t live,
                                            uint64_t from) const {
  Span needed = NeededIn(order, live);
  from = std::max(from, needed.begin);
  if (from >= needed.end) return std::nullopt;
  if (order.options().mode == OrderMode::kSequential) return from;
  uint64_t first = options_.layout->FirstRow(live);
  uint64_t count = options_.layout->RowCount(live);
  std::optional<uint64_t> found;
  uint64_t at = from, end = std::min(needed.end, from + count);
  ForEachBlock(order, from, end, [&](const std::vector<uint64_t>& block) {
    auto hit = std::ranges::find_if(block, [&](uint64_t r) { return r - first < count; });
    if (hit != block.end()) found = at + static_cast<uint64_t>(hit - block.begin());
    at += block.size();
    return !found;
  });
  if (found) return found;
  std::vector<uint64_t> block;
  for (uint64_t done = 0; done < count; done += block.size()) {
    block.resize(std::min(kBlock, count - done));
    std::iota(block.begin(), block.end(), first + done);
    order.ToPositions(block);
    for (uint64_t position : block) {
      if (position >= from && (!found || position < *found)) found = position;
    }
  }
  return found;
}

}  // namespace forebay::plan
