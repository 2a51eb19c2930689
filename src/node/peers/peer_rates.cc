#include "node/peers/peer_rates.h"

#include <algorithm>

namespace forebay::node {

void PeerRates::Record(uint64_t bytes_per_s) {
  std::lock_guard lock(mutex_);
  recent_[count_++ % recent_.size()] = bytes_per_s;
}

bool PeerRates::IsSlow(uint64_t bytes_per_s) const {
  if (bytes_per_s >= kEnough) return false;
  std::lock_guard lock(mutex_);
  if (count_ < kFew) return bytes_per_s < kUsualAtFirst / kFar;
  auto sorted = recent_;
  auto end =
      sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, sorted.size()));
  auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return bytes_per_s < *middle / kFar;
}

}  // namespace forebay::node
