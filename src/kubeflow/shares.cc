#include "kubeflow/shares.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace forebay::kubeflow {
namespace {

bool ParseWhole(const std::string& text, uint64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

void Append(flight::RowInterval rows, std::vector<flight::RowInterval>* out) {
  if (!out->empty() && out->back().end() == rows.first) {
    out->back().count += rows.count;
  } else {
    out->push_back(rows);
  }
}

}  // namespace

Result<ShareIndex> ParseShare(const std::vector<std::string>& path) {
  ShareIndex share;
  bool right = path.size() == 2 && ParseWhole(path[0], &share.index) &&
               ParseWhole(path[1], &share.total) && share.index < share.total;
  if (right) return share;
  return Status::Invalid(
      "a path here is [index, total]: which of how many shares, index below total");
}

flight::RowInterval RowsOf(ShareIndex share, uint64_t rows) {
  auto begin = [&](uint64_t index) {
    using Wide = unsigned __int128;
    return static_cast<uint64_t>(static_cast<Wide>(rows) * index / share.total);
  };
  uint64_t first = begin(share.index);
  return {first, begin(share.index + 1) - first};
}

std::vector<OwnedRows> CutByOwner(
    const model::Manifest& manifest, flight::RowInterval rows,
    const std::function<uint32_t(const Hash128&)>& owner_of) {
  auto units = manifest.units();
  auto unit = std::ranges::partition_point(units, [&](const model::UnitRecord& record) {
    return record.first_row + record.row_count <= rows.first;
  });
  std::vector<OwnedRows> cut;
  std::map<uint32_t, size_t> latest;  // by owner, in `cut`
  for (; unit != units.end() && unit->first_row < rows.end(); ++unit) {
    uint64_t first = std::max(unit->first_row, rows.first);
    uint64_t end = std::min(unit->first_row + unit->row_count, rows.end());
    if (first >= end) continue;
    uint32_t owner = owner_of(unit->content);
    auto [place, added] = latest.try_emplace(owner, cut.size());
    if (added || cut[place->second].intervals.size() == flight::kIntervalsMax) {
      place->second = cut.size();
      cut.push_back({.owner = owner});
    }
    Append({first, end - first}, &cut[place->second].intervals);
  }
  return cut;
}

}  // namespace forebay::kubeflow
