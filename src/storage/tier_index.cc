#include "storage/tier_index.h"

namespace forebay::storage {

const IndexEntry* TierIndex::Find(const Hash128& key) const {
  auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

IndexEntry* TierIndex::Find(const Hash128& key) {
  auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

std::optional<IndexEntry> TierIndex::Put(IndexEntry entry) {
  std::optional<IndexEntry> old = Take(entry.name.key);
  entry.born_in_scan = scan_;
  bytes_ += entry.name.size;
  Hash128 key = entry.name.key;
  entries_.emplace(key, std::move(entry));
  return old;
}

std::optional<IndexEntry> TierIndex::Take(const Hash128& key) {
  auto it = entries_.find(key);
  if (it == entries_.end()) return std::nullopt;
  IndexEntry entry = std::move(it->second);
  entries_.erase(it);
  bytes_ -= entry.name.size;
  return entry;
}

std::vector<EvictionCandidate> TierIndex::Candidates() const {
  std::vector<EvictionCandidate> out;
  out.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    out.push_back({.key = key,
                   .size = entry.name.size,
                   .kind = entry.name.kind,
                   .last_use_ns = entry.last_use_ns});
  }
  return out;
}

std::vector<IndexEntry> TierIndex::Entries() const {
  std::vector<IndexEntry> out;
  out.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) out.push_back(entry);
  return out;
}

bool TierIndex::IsCondemned(const ChunkName& name) const {
  return !condemned_.empty() && condemned_.contains(name.ToString());
}

TierIndex::Changes TierIndex::Reconcile(const std::vector<ChunkName>& seen,
                                        uint64_t scan) {
  Changes changes;
  std::unordered_map<Hash128, const ChunkName*> chosen;
  for (const ChunkName& name : seen) {
    if (IsCondemned(name)) continue;
    auto [it, first] = chosen.try_emplace(name.key, &name);
    if (first) continue;
    // Two writers made different bytes for one key. Either is right, but every process
    // must keep the same one: the smaller checksum.
    const ChunkName*& kept = it->second;
    const ChunkName* other = &name;
    if (other->checksum < kept->checksum) std::swap(other, kept);
    changes.duplicates.push_back(*other);
  }
  std::vector<Hash128> gone;
  for (const auto& [key, entry] : entries_) {
    auto it = chosen.find(key);
    bool there = it != chosen.end() && *it->second == entry.name;
    if (!there && entry.born_in_scan < scan) gone.push_back(key);
  }
  for (const Hash128& key : gone) changes.gone.push_back(*Take(key));
  for (const auto& [key, name] : chosen) {
    if (entries_.contains(key)) continue;
    Put({.name = *name, .fd = nullptr});
  }
  return changes;
}

}  // namespace forebay::storage
