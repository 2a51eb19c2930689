// How a store is opened, and what it reports about itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/size.h"
#include "base/status.h"
#include "model/store_spec.h"
#include "storage/eviction_policy.h"

namespace forebay::storage {

enum class OpenMode {
  kCreate,    // makes the directories that are missing
  kExisting,  // a directory that is no store is kNotFound
  kReadOnly,  // as kExisting, and nothing in it is changed
};

struct TierOptions {
  model::TierSpec spec;
  // Shares of the quota: filling beyond `high` evicts down to `low`.
  double high_watermark = 0.95;
  double low_watermark = 0.90;
  // Left free on the file system for others. Unset: 5 % of it, at most 1 GiB.
  std::optional<uint64_t> free_floor_bytes;
  // Chunks outlast a power cut soon after they were published; on disks of other
  // machines, before. Without effect on the mem medium.
  bool durable = true;
  // The oldest quarantined files beyond this (and beyond 1/16 of the quota) are removed.
  uint64_t quarantine_bytes_max = 256 * kMiB;
};

constexpr uint64_t kBorrowedBytes = 256 * kMiB;

struct StoreOptions {
  std::vector<TierOptions> tiers;  // fastest first
  const Clock* clock = &Clock::Real();
  std::unique_ptr<EvictionPolicy> policy;  // none: LeastRecentUse
  // Memory for chunks that no local tier holds, while somebody reads them.
  uint64_t borrowed_bytes_max = kBorrowedBytes;
  // Told whenever a copy of a chunk left a tier (evicted, moved to another tier, removed,
  // found corrupt or unlinked by another process), so that readers let go of it; ask
  // Contains whether another copy is left. Runs on the thread that caused it, with no
  // lock of Get, Contains, AddReader or DropReader held; it must not Create, Promote,
  // Demote or Trim.
  std::function<void(const Hash128& key)> on_evict;
  OpenMode mode = OpenMode::kCreate;
};

// The default options for each tier of a store as written.
std::vector<TierOptions> TiersOf(const std::vector<model::TierSpec>& specs);

struct TierStats {
  model::TierSpec spec;
  bool remote = false;
  // What the tier can hold: its quota, or what it holds and the disk has free above the
  // floor, whichever is less.
  uint64_t capacity_bytes = 0;
  uint64_t used_bytes = 0;      // chunks
  uint64_t reserved_bytes = 0;  // being written, by this process and others
  uint64_t mapped_evicted_bytes = 0;
  uint64_t quarantine_bytes = 0;
  uint64_t chunk_count = 0;
  uint64_t evictions = 0;   // chunks that left for want of room…
  uint64_t demotions = 0;   // …of which so many went on to a slower tier
  uint64_t promotions = 0;  // chunks that came from a slower tier
  Status write_status;      // why the last chunk could not be kept here, if so
};

struct StoreStats {
  std::vector<TierStats> tiers;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t published = 0;
  uint64_t verified = 0;     // chunks hashed on first use
  uint64_t quarantined = 0;  // corrupt, truncated and foreign files found
  uint64_t unkept = 0;       // chunks no tier could take, served from memory
  uint64_t unkept_bytes = 0;
  uint64_t borrowed_bytes = 0;  // of the memory for chunks that no local tier holds…
  uint64_t borrowed_bytes_max = 0;    // …of which there is this much
  uint64_t mapped_evicted_bytes = 0;  // gone from the store, still mapped by readers
};

struct SweepReport {
  uint64_t temp_files = 0;
  uint64_t temp_bytes = 0;
  uint64_t quarantined = 0;  // foreign files moved aside
  uint64_t quarantine_files_removed = 0;
};

struct VerifyReport {
  uint64_t chunk_count = 0;
  uint64_t bytes = 0;
  uint64_t corrupt = 0;
};

}  // namespace forebay::storage
