// A tier as the store keeps it: with its index and accounts, which the store's mutex
// guards.
#pragma once

#include <memory>
#include <mutex>

#include "storage/store.h"
#include "storage/tier.h"
#include "storage/tier_index.h"

namespace forebay::storage {

struct Store::Shelf {
  TierOptions options;
  std::unique_ptr<Tier> tier;
  TierIndex index;
  bool remote = false;          // chunks are read here, and never mapped
  uint64_t reserved_bytes = 0;  // of our own drafts
  uint64_t draft_count = 0;
  uint64_t claimed_bytes = 0;  // by other processes' drafts, when last scanned
  uint64_t quarantine_bytes = 0;
  uint64_t unscanned_bytes = 0;  // reserved since the last scan
  uint64_t evictions = 0;
  uint64_t demotions = 0;
  uint64_t promotions = 0;
  Status write_status;

  std::mutex evicting;  // held over file work; taken before the store's mutex, and by
                        // tiers in their order

  uint64_t quota_bytes() const { return options.spec.quota_bytes; }
  uint64_t committed_bytes() const {
    return index.bytes() + reserved_bytes + claimed_bytes + quarantine_bytes;
  }
};

}  // namespace forebay::storage
