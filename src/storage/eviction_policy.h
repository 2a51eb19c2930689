// Which chunks go first when a tier must make room.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "model/chunk.h"

namespace forebay::storage {

struct EvictionCandidate {
  Hash128 key;
  uint64_t size = 0;
  model::ChunkKind kind = model::ChunkKind::kTable;
  int64_t last_use_ns = 0;   // wall time, across processes and boots
  bool leaves_store = true;  // no slower tier takes it
};

// Called with no lock held, from any thread. A policy only orders; how much goes, and
// that chunks nobody maps go before mapped ones, is the store's business.
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // Sorts so that the first is evicted first.
  virtual void Order(std::vector<EvictionCandidate>& candidates) const = 0;
};

class LeastRecentUse : public EvictionPolicy {
 public:
  void Order(std::vector<EvictionCandidate>& candidates) const override;
};

}  // namespace forebay::storage
