#include "node/second_copies.h"

#include <algorithm>

namespace forebay::node {

void SecondCopies::Join(Options options) {
  std::lock_guard lock(mutex_);
  options_ = std::move(options);
}

void SecondCopies::Note(const Hash128& key, const Hash128& unit) {
  std::lock_guard lock(mutex_);
  if (places_.size() >= swept_at_) Sweep();
  places_.try_emplace(key, Place{.unit = unit});
}

// Each time the places have doubled: little work for each of them.
void SecondCopies::Sweep() {
  if (options_.stored) {
    std::erase_if(places_,
                  [this](const auto& place) { return !options_.stored(place.first); });
  }
  swept_at_ = std::max(kSweptMin, 2 * places_.size());
}

std::vector<bool> SecondCopies::Among(
    const std::vector<storage::EvictionCandidate>& candidates) {
  std::vector<bool> second(candidates.size());
  std::lock_guard lock(mutex_);
  if (!options_.roster) return second;
  auto roster = options_.roster();
  for (size_t i = 0; i < candidates.size(); ++i) {
    auto found = places_.find(candidates[i].key);
    if (found == places_.end()) continue;
    Place& place = found->second;
    if (place.epoch != roster->epoch()) {
      auto first = roster->Route(place.unit, 1);
      place.second = !first.empty() && roster->members()[first[0]].id != options_.self;
      place.epoch = roster->epoch();
    }
    second[i] = place.second;
  }
  return second;
}

size_t SecondCopies::noted_count() const {
  std::lock_guard lock(mutex_);
  return places_.size();
}

void SecondCopiesFirst::Order(std::vector<storage::EvictionCandidate>& candidates) const {
  order_->Order(candidates);
  // What a slower tier takes does not leave the store.
  bool leaves = !candidates.empty() && candidates.front().leaves_store;
  if (!leaves) return;
  std::vector<bool> goes_first = copies_->Among(candidates);
  if (std::ranges::find(goes_first, true) == goes_first.end()) return;
  double bytes = 0;
  for (const auto& candidate : candidates) bytes += static_cast<double>(candidate.size);
  double kept = 0;
  for (size_t i = candidates.size(); i > 0; --i) {
    if (goes_first[i - 1]) continue;
    kept += static_cast<double>(candidates[i - 1].size);
    goes_first[i - 1] = kept > kKeptShare * bytes;
  }
  std::vector<storage::EvictionCandidate> sorted;
  sorted.reserve(candidates.size());
  for (bool first : {true, false}) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (goes_first[i] == first) sorted.push_back(candidates[i]);
    }
  }
  candidates = std::move(sorted);
}

}  // namespace forebay::node
