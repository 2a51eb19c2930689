#include "node/peers/peer_patience.h"

#include <algorithm>

namespace forebay::node {

void PeerPatience::Record(milliseconds silence) {
  std::lock_guard lock(mutex_);
  recent_[count_++ % recent_.size()] = silence;
}

milliseconds PeerPatience::Delay() const {
  milliseconds usual = ThreeTimesUsual();
  return usual == milliseconds(0) ? kMost : std::clamp(usual, kLeast, kMost);
}

milliseconds PeerPatience::FillDelay() const {
  return std::clamp(ThreeTimesUsual(), kMost, kFillMost);
}

milliseconds PeerPatience::ThreeTimesUsual() const {
  std::array<milliseconds, 128> sorted;
  size_t count = 0;
  {
    std::lock_guard lock(mutex_);
    sorted = recent_;
    count = std::min(count_, recent_.size());
  }
  if (count == 0) return milliseconds(0);
  auto at = sorted.begin() + static_cast<std::ptrdiff_t>((count - 1) * 95 / 100);
  std::nth_element(sorted.begin(), at,
                   sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return std::max(3 * *at, milliseconds(1));
}

}  // namespace forebay::node
