#include "storage/reader_ledger.h"

#include <algorithm>
#include <numeric>

namespace forebay::storage {

void ReaderLedger::Add(const Hash128& key, uint64_t size, std::optional<size_t> tier) {
  std::vector<Copy>& copies = copies_[key];
  bool evicted = !tier.has_value();
  for (Copy& copy : copies) {
    if (copy.tier != tier || copy.evicted != evicted) continue;
    ++copy.readers;
    return;
  }
  Copy copy{.size = size, .tier = tier, .readers = 1};
  if (evicted) {
    CountEvicted(copy);
    copies.insert(copies.begin(), copy);
  } else {
    copies.push_back(copy);
  }
}

void ReaderLedger::Drop(const Hash128& key) {
  auto it = copies_.find(key);
  if (it == copies_.end()) return;
  std::vector<Copy>& copies = it->second;
  if (--copies.front().readers == 0) {
    UncountEvicted(copies.front());
    copies.erase(copies.begin());
  }
  if (copies.empty()) copies_.erase(it);
}

void ReaderLedger::OnRemoved(const Hash128& key, size_t tier) {
  auto it = copies_.find(key);
  if (it == copies_.end()) return;
  for (Copy& copy : it->second) {
    if (!copy.evicted && copy.tier == tier) CountEvicted(copy);
  }
  std::stable_partition(it->second.begin(), it->second.end(),
                        [](const Copy& copy) { return copy.evicted; });
}

bool ReaderLedger::IsMapped(const Hash128& key, size_t tier) const {
  auto it = copies_.find(key);
  if (it == copies_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [&](const Copy& copy) {
    return !copy.evicted && copy.tier == tier;
  });
}

bool ReaderLedger::IsMappedOutside(const Hash128& key) const {
  auto it = copies_.find(key);
  if (it == copies_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(),
                     [](const Copy& copy) { return !copy.tier.has_value(); });
}

uint64_t ReaderLedger::evicted_bytes() const {
  return std::accumulate(evicted_bytes_.begin(), evicted_bytes_.end(),
                         evicted_elsewhere_bytes_);
}

void ReaderLedger::CountEvicted(Copy& copy) {
  copy.evicted = true;
  (copy.tier ? evicted_bytes_[*copy.tier] : evicted_elsewhere_bytes_) += copy.size;
}

void ReaderLedger::UncountEvicted(const Copy& copy) {
  if (!copy.evicted) return;
  (copy.tier ? evicted_bytes_[*copy.tier] : evicted_elsewhere_bytes_) -= copy.size;
}

}  // namespace forebay::storage
