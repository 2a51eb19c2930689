#include "cache/next_use.h"

#include <algorithm>
#include <numeric>

namespace forebay::cache {
namespace {

std::unordered_map<Hash128, uint32_t> RangesByKey(const View& view) {
  std::unordered_map<Hash128, uint32_t> ranges;
  const model::Manifest& manifest = view.manifest();
  for (uint32_t range = 0; range < manifest.ranges().size(); ++range) {
    uint32_t unit = manifest.ranges()[range].unit;
    for (uint32_t group : model::Groups(manifest, unit, view.columns)) {
      ranges.emplace(view.Key({range, group}), range);
    }
  }
  return ranges;
}

}  // namespace

Status NextUse::Follow(ClientId client, const View& view, plan::Order::Options order,
                       uint64_t position) {
  auto layout = plan::RangeLayout::Of(view.manifest());
  order.rows = layout->rows();
  order.layout = layout;
  FB_ASSIGN_OR_RETURN(plan::Order now, plan::Order::Make(order));
  ++order.epoch;
  FB_ASSIGN_OR_RETURN(plan::Order next, plan::Order::Make(order));
  plan::LookAhead ahead({.order = now, .next = next, .layout = layout});
  auto ranges = RangesByKey(view);  // hashes a lot: before the lock
  std::lock_guard lock(mutex_);
  Track& track = tracks_[KeyOf(view)];
  track.range_of = std::move(ranges);
  track.followers.insert_or_assign(client, Follower{std::move(ahead), position});
  return Status::OK();
}

void NextUse::Advance(ClientId client, const View& view, uint64_t position) {
  std::lock_guard lock(mutex_);
  auto track = tracks_.find(KeyOf(view));
  if (track == tracks_.end()) return;
  auto follower = track->second.followers.find(client);
  if (follower != track->second.followers.end()) follower->second.position = position;
}

void NextUse::Forget(ClientId client) {
  std::lock_guard lock(mutex_);
  for (auto& [key, track] : tracks_) track.followers.erase(client);
  std::erase_if(tracks_,
                [](const auto& entry) { return entry.second.followers.empty(); });
}

std::optional<uint64_t> NextUse::RowsUntilLocked(const Hash128& key) const {
  std::optional<uint64_t> nearest;
  for (const auto& [name, track] : tracks_) {
    auto range = track.range_of.find(key);
    if (range == track.range_of.end()) continue;
    for (const auto& [client, follower] : track.followers) {
      auto from = follower.ahead.NeededFrom(range->second, follower.position);
      if (!from) continue;
      uint64_t rows = *from - follower.position;
      nearest = std::min(nearest.value_or(rows), rows);
    }
  }
  return nearest;
}

std::optional<uint64_t> NextUse::RowsUntil(const Hash128& key) const {
  std::lock_guard lock(mutex_);
  return RowsUntilLocked(key);
}

std::vector<std::optional<uint64_t>> NextUse::RowsUntil(
    const std::vector<storage::EvictionCandidate>& candidates) const {
  std::lock_guard lock(mutex_);
  std::vector<std::optional<uint64_t>> out;
  out.reserve(candidates.size());
  for (const auto& candidate : candidates) out.push_back(RowsUntilLocked(candidate.key));
  return out;
}

void FarthestNextUse::Order(std::vector<storage::EvictionCandidate>& candidates) const {
  auto rows = next_use_->RowsUntil(candidates);
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) {
    if (rows[a].has_value() != rows[b].has_value()) return !rows[a].has_value();
    if (rows[a] != rows[b]) return *rows[a] > *rows[b];
    return std::tie(candidates[a].last_use_ns, candidates[a].key) <
           std::tie(candidates[b].last_use_ns, candidates[b].key);
  });
  std::vector<storage::EvictionCandidate> sorted;
  sorted.reserve(candidates.size());
  for (size_t i : order) sorted.push_back(candidates[i]);
  candidates = std::move(sorted);
}

}  // namespace forebay::cache
