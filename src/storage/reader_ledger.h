// Who still maps what. Eviction is unlink, so a mapped chunk's bytes stay used until its
// last reader lets go; this keeps count of them per tier. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace forebay::storage {

class ReaderLedger {
 public:
  explicit ReaderLedger(size_t tier_count) : evicted_bytes_(tier_count) {}

  // `tier` is where the chunk lives; none when no tier holds it (any more).
  void Add(const Hash128& key, uint64_t size, std::optional<size_t> tier);
  // Readers of evicted copies are taken to let go first: they were told to.
  void Drop(const Hash128& key);
  // The chunk's copy left the tier.
  void OnRemoved(const Hash128& key, size_t tier);

  bool IsMapped(const Hash128& key, size_t tier) const;
  // A copy that never was in a tier.
  bool IsMappedOutside(const Hash128& key) const;
  // Gone from the tier, but still mapped.
  uint64_t evicted_bytes(size_t tier) const { return evicted_bytes_[tier]; }
  // The same over all tiers and beyond.
  uint64_t evicted_bytes() const;

 private:
  // Readers of one copy of a chunk.
  struct Copy {
    uint64_t size = 0;
    std::optional<size_t> tier;
    uint32_t readers = 0;
    bool evicted = false;
  };
  void CountEvicted(Copy& copy);
  void UncountEvicted(const Copy& copy);

  std::unordered_map<Hash128, std::vector<Copy>> copies_;  // evicted ones first
  std::vector<uint64_t> evicted_bytes_;
  uint64_t evicted_elsewhere_bytes_ = 0;
};

}  // namespace forebay::storage
