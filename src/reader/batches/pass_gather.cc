#include "reader/batches/pass_gather.h"

#include <algorithm>
#include <numeric>

namespace forebay::reader {
namespace {

// The distinct ranges of some rows, which are in the order of their ranges.
std::vector<uint32_t> RangesOf(std::span<const RowAddress> rows,
                               std::span<const uint32_t> order) {
  std::vector<uint32_t> ranges;
  for (uint32_t row : order) {
    uint32_t range = rows[row].source;
    if (ranges.empty() || ranges.back() != range) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

Result<std::vector<Column>> PassGather::Gather(std::span<const RowAddress> rows) {
  order_.resize(rows.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(order_, {}, [&](uint32_t row) { return rows[row].source; });
  places_.resize(rows.size());
  parts_.clear();
  options_.table->DropBorrowed();
  for (size_t first = 0; first < rows.size();) {
    size_t last = EndOfPass(rows, first);
    FB_RETURN_NOT_OK(Bring(rows, first, &last));
    FB_RETURN_NOT_OK(TakePart(rows, first, last));
    options_.table->DropBorrowed();
    first = last;
  }
  options_.table->GiveBack();
  auto columns = Join();
  parts_.clear();
  return columns;
}

// A unit is decoded as a whole, so its ranges are taken together.
size_t PassGather::EndOfPass(std::span<const RowAddress> rows, size_t first) const {
  const ChunkTable& table = *options_.table;
  uint32_t filler = table.filler_source();
  auto unit_of = [&](uint32_t range) {
    return range == filler ? UINT32_MAX : table.manifest().ranges()[range].unit;
  };
  uint32_t range = rows[order_[first]].source;
  uint32_t unit = unit_of(range);
  uint32_t count = 1;
  for (size_t i = first; i < rows.size(); ++i) {
    uint32_t next = rows[order_[i]].source;
    if (next == range) continue;
    if (unit_of(next) != unit || count == ranges_max_) return i;
    range = next;
    ++count;
  }
  return rows.size();
}

// With fewer ranges, and so fewer rows, where these are too many at once.
Status PassGather::Bring(std::span<const RowAddress> rows, size_t first, size_t* last) {
  ChunkTable& table = *options_.table;
  if (rows[order_[first]].source == table.filler_source()) return Status::OK();
  for (;;) {
    auto ranges = RangesOf(rows, std::span(order_).subspan(first, *last - first));
    table.DropEvicted();
    Status status = table.EnsureBriefly(ranges);
    if (status.code() != StatusCode::kFull) return status;
    if (ranges.size() == 1) return table.EnsureAlone(ranges);
    ranges_max_ = static_cast<uint32_t>(ranges.size() / 2);
    *last = EndOfPass(rows, first);
  }
}

Status PassGather::TakePart(std::span<const RowAddress> rows, size_t first, size_t last) {
  std::vector<RowAddress> addresses;
  addresses.reserve(last - first);
  auto part_number = static_cast<uint32_t>(parts_.size());
  for (size_t i = first; i < last; ++i) {
    places_[order_[i]] = {part_number, static_cast<uint32_t>(addresses.size())};
    addresses.push_back(rows[order_[i]]);
  }
  Part part;
  for (size_t i = 0; i < options_.gatherers.size(); ++i) {
    size_t place = options_.places.empty() ? i : options_.places[i];
    FB_ASSIGN_OR_RETURN(Column column, options_.gatherers[i].Gather(
                                           options_.table->Sources(place), addresses));
    part.columns.push_back(std::move(column));
  }
  parts_.push_back(std::move(part));
  return Status::OK();
}

Result<std::vector<Column>> PassGather::Join() const {
  std::vector<Column> columns;
  for (size_t i = 0; i < options_.gatherers.size(); ++i) {
    std::vector<ChunkColumn> sources;
    for (const Part& part : parts_) sources.push_back(AsSource(part.columns[i]));
    std::vector<const ChunkColumn*> pointers;
    for (const ChunkColumn& source : sources) pointers.push_back(&source);
    FB_ASSIGN_OR_RETURN(Column column, options_.gatherers[i].Gather(pointers, places_));
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace forebay::reader
