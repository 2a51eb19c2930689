#include "storage/eviction_policy.h"

#include <algorithm>
#include <tuple>

namespace forebay::storage {

void LeastRecentUse::Order(std::vector<EvictionCandidate>& candidates) const {
  // The key breaks ties, so that several processes choose alike.
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.last_use_ns, a.key) < std::tie(b.last_use_ns, b.key);
  });
}

}  // namespace forebay::storage
