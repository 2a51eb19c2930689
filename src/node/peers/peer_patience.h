// How long a peer may be silent before another one is asked too, and before its work is
// done here: both follow how long peers were silent lately, so that busy hosts are not
// taken for dead ones. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "base/clock.h"

namespace forebay::node {

class PeerPatience {
 public:
  // Peers that are at it say so several times in this time.
  static constexpr milliseconds kLeast{150};
  static constexpr milliseconds kMost{1'000};
  static constexpr milliseconds kFillMost{5'000};

  // The longest silence in a call that went well.
  void Record(milliseconds silence);
  // Until another peer is asked for what it has stored: three times the 95th percentile,
  // from kLeast to kMost.
  milliseconds Delay() const;
  // Until another peer, or this node, reads the source instead, where a false alarm costs
  // a second reading: the same from kMost to kFillMost.
  milliseconds FillDelay() const;

 private:
  milliseconds ThreeTimesUsual() const;  // zero: nothing is known

  mutable std::mutex mutex_;
  std::array<milliseconds, 128> recent_{};
  size_t count_ = 0;
};

}  // namespace forebay::node
