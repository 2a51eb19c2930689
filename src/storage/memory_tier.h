// Chunks as sealed memfds. They live while the index or a handle holds their descriptor,
// so this tier keeps nothing itself, and nobody else can see it.
#pragma once

#include <memory>
#include <vector>

#include "storage/tier.h"

namespace forebay::storage {

class MemoryTier : public Tier {
 public:
  MemoryTier();

  Result<Draft> NewDraft(uint64_t claimed_bytes) override;
  Result<std::shared_ptr<const UniqueFd>> Publish(Draft& draft, const ChunkName& name,
                                                  int64_t now_ns) override;
  Result<UniqueFd> Open(const ChunkName& name) const override;
  Status Unlink(const ChunkName&) override { return Status::OK(); }
  Status Quarantine(const ChunkName&) override { return Status::OK(); }
  int64_t LastUse(const ChunkName&) const override { return 0; }
  void RecordUse(const UniqueFd&, int64_t) const override {}
  Result<TierScan> Scan() override { return TierScan{}; }
  std::vector<ChunkName> Find(const Hash128&) const override { return {}; }
  SweepReport Sweep(int64_t) override { return {}; }
  bool shared() const override { return false; }
  uint64_t free_bytes() const override { return UINT64_MAX; }
  uint64_t free_floor_bytes() const override { return 0; }
  uint64_t chunk_count_max() const override { return chunk_count_max_; }

 private:
  uint64_t chunk_count_max_;
};

}  // namespace forebay::storage
