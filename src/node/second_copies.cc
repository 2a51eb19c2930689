#include "node/second_copies.h"

#include <algorithm>

namespace forebay::node {
namespace {

using storage::EvictionCandidate;

// What a slower tier takes does not leave the store.
bool LeaveStore(const std::vector<EvictionCandidate>& candidates) {
  return !candidates.empty() && candidates.front().leaves_store;
}

// By rank, and within a rank as before.
void SortByRank(std::vector<EvictionCandidate>& candidates,
                const std::vector<int>& ranks) {
  std::vector<size_t> order(candidates.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return ranks[i]; });
  std::vector<EvictionCandidate> sorted;
  sorted.reserve(candidates.size());
  for (size_t i : order) sorted.push_back(candidates[i]);
  candidates = std::move(sorted);
}

// Of what is needed sooner than the chunk that it would go for: after all others.
constexpr int kSoonerRank = 2;

// No reader is known to need it, or it is needed later than the other one.
bool NeededLater(std::optional<uint64_t> rows, std::optional<uint64_t> others) {
  return !rows || (others && *rows > *others);
}

}  // namespace

void SecondCopies::Join(Options options) {
  std::lock_guard lock(mutex_);
  options_ = std::move(options);
}

void SecondCopies::Note(const Hash128& key, const Origin& origin) {
  std::lock_guard lock(mutex_);
  if (places_.size() >= swept_at_) Sweep();
  places_.try_emplace(key, Place{.origin = origin});
}

// Each time the places have doubled: little work for each of them.
void SecondCopies::Sweep() {
  if (options_.stored) {
    std::erase_if(places_,
                  [this](const auto& place) { return !options_.stored(place.first); });
  }
  swept_at_ = std::max(kSweptMin, 2 * places_.size());
}

SecondCopies::Copy SecondCopies::CopyOf(const Hash128& key,
                                        const cluster::Roster& roster) {
  auto found = places_.find(key);
  if (found == places_.end()) return {};
  Place& place = found->second;
  if (place.epoch != roster.epoch()) {
    auto first = roster.Route(place.origin.unit, 1);
    place.second = !first.empty() && roster.members()[first[0]].id != options_.self;
    place.epoch = roster.epoch();
  }
  return {.second = place.second, .version = place.origin.version};
}

std::vector<SecondCopies::Copy> SecondCopies::Among(
    const std::vector<EvictionCandidate>& candidates) {
  std::vector<Copy> copies(candidates.size());
  std::lock_guard lock(mutex_);
  if (!options_.roster) return copies;
  auto roster = options_.roster();
  for (size_t i = 0; i < candidates.size(); ++i) {
    copies[i] = CopyOf(candidates[i].key, *roster);
  }
  return copies;
}

bool SecondCopies::IsSecond(const Hash128& key) {
  std::lock_guard lock(mutex_);
  return options_.roster && CopyOf(key, *options_.roster()).second;
}

size_t SecondCopies::noted_count() const {
  std::lock_guard lock(mutex_);
  return places_.size();
}

void SecondCopiesFirst::Order(std::vector<EvictionCandidate>& candidates) const {
  options_.order->Order(candidates);
  if (!LeaveStore(candidates)) return;
  std::vector<Kind> kinds = KindsOf(candidates);
  if (std::ranges::find(kinds, Kind::kSecond) == kinds.end()) return;
  std::vector<int> ranks;
  ranks.reserve(kinds.size());
  for (Kind kind : kinds) ranks.push_back(static_cast<int>(kind));
  SortByRank(candidates, ranks);
}

size_t SecondCopiesFirst::OrderForSecondCopy(
    const Hash128& key, std::vector<EvictionCandidate>& candidates) const {
  options_.order->Order(candidates);
  if (!LeaveStore(candidates)) return candidates.size();
  std::vector<Kind> kinds = KindsOf(candidates);
  std::optional<uint64_t> rows = options_.rows_until(key);
  std::vector<int> ranks;
  ranks.reserve(kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    bool later = kinds[i] == Kind::kIdle ||
                 NeededLater(options_.rows_until(candidates[i].key), rows);
    ranks.push_back(static_cast<int>(kinds[i]) + (later ? 0 : kSoonerRank));
  }
  SortByRank(candidates, ranks);
  return static_cast<size_t>(std::ranges::count_if(
      ranks, [](int rank) { return rank <= static_cast<int>(Kind::kSecond); }));
}

// Chunks of no cluster's dataset count as first copies: no other node has them. Whether
// they are in use is known of each alone.
std::vector<SecondCopiesFirst::Kind> SecondCopiesFirst::KindsOf(
    const std::vector<EvictionCandidate>& candidates) const {
  std::vector<SecondCopies::Copy> copies = options_.copies->Among(candidates);
  std::unordered_map<Hash128, int64_t> used;  // versions, when last
  for (size_t i = 0; i < copies.size(); ++i) {
    if (!copies[i].version) continue;
    int64_t& last = used[*copies[i].version];
    last = std::max(last, candidates[i].last_use_ns);
  }
  int64_t idle_before =
      options_.clock->WallNanos() - std::chrono::nanoseconds(kIdleAfter).count();
  auto is_idle = [&](size_t i) {
    const EvictionCandidate& one = candidates[i];
    int64_t last = copies[i].version ? used[*copies[i].version] : one.last_use_ns;
    return one.kind != model::ChunkKind::kManifest && last < idle_before &&
           !options_.rows_until(one.key);
  };
  std::vector<Kind> kinds;
  kinds.reserve(copies.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    Kind kind = copies[i].second ? Kind::kSecond : Kind::kFirst;
    kinds.push_back(is_idle(i) ? Kind::kIdle : kind);
  }
  return kinds;
}

}  // namespace forebay::node
