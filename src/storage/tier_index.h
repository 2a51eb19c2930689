// What this process knows of one tier's chunks. Not thread-safe: the store's mutex guards
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/unique_fd.h"
#include "storage/chunk_name.h"
#include "storage/eviction_policy.h"

namespace forebay::storage {

struct IndexEntry {
  ChunkName name;
  std::shared_ptr<const UniqueFd> fd;  // memfd chunks only
  bool verified = false;               // by this process, when published or on first use
  int64_t last_use_ns = 0;             // 0: not known yet, ask the tier
  int64_t recorded_ns = 0;             // when the use was last written to the file
  uint64_t born_in_scan = 0;
};

class TierIndex {
 public:
  const IndexEntry* Find(const Hash128& key) const;
  IndexEntry* Find(const Hash128& key);
  // Returns the entry it takes the place of.
  std::optional<IndexEntry> Put(IndexEntry entry);
  std::optional<IndexEntry> Take(const Hash128& key);
  std::vector<EvictionCandidate> Candidates() const;
  std::vector<IndexEntry> Entries() const;

  // A name that could not be moved to quarantine: never served, never looked at again.
  void Condemn(const ChunkName& name) { condemned_.insert(name.ToString()); }
  void Pardon(const ChunkName& name) { condemned_.erase(name.ToString()); }
  bool IsCondemned(const ChunkName& name) const;

  // A scan lists the tier while others publish and evict. Entries born after its number
  // was drawn are kept, whatever it saw.
  uint64_t BeginScan() { return ++scan_; }
  struct Changes {
    std::vector<IndexEntry> gone;       // unlinked by somebody else
    std::vector<ChunkName> duplicates;  // a second file of a key: to be unlinked
  };
  Changes Reconcile(const std::vector<ChunkName>& seen, uint64_t scan);

  uint64_t bytes() const { return bytes_; }
  size_t count() const { return entries_.size(); }

 private:
  std::unordered_map<Hash128, IndexEntry> entries_;
  std::unordered_set<std::string> condemned_;
  uint64_t bytes_ = 0;
  uint64_t scan_ = 0;
};

}  // namespace forebay::storage
