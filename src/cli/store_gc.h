// What `forebay store gc --dry-run` says would happen.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/eviction_policy.h"

namespace forebay::cli {

struct Evictions {
  uint64_t chunks = 0;
  uint64_t bytes = 0;
};

// What must go so that at most `quota_bytes` are left, least recently used first.
Evictions PlanEvictions(std::vector<storage::EvictionCandidate> chunks,
                        uint64_t quota_bytes);

}  // namespace forebay::cli
