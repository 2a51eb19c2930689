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

// A chunk that another node keeps too, while room is made for it.
struct SecondCopy {
  Hash128 key;
  bool evicts_all = false;  // there is no memory to lend
};

// Called with no lock held, from any thread. A policy only orders; how much goes, and
// that chunks nobody maps go before mapped ones, is the store's business.
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // Sorts so that the first is evicted first.
  virtual void Order(std::vector<EvictionCandidate>& candidates) const = 0;

  // True when another node keeps the chunk too. Memory is lent for such a chunk rather
  // than that others go for it.
  virtual bool IsSecondCopy(const Hash128&) const { return false; }
  // The same as Order, to make room for a second copy. Returns how many of the candidates
  // may go for it as long as memory can be lent: the first of them.
  virtual size_t OrderForSecondCopy(const Hash128& /*key*/,
                                    std::vector<EvictionCandidate>& candidates) const {
    Order(candidates);
    return candidates.size();
  }
};

class LeastRecentUse : public EvictionPolicy {
 public:
  void Order(std::vector<EvictionCandidate>& candidates) const override;
};

}  // namespace forebay::storage
