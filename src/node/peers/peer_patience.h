// How long a peer may be silent before another one is asked too: by how long peers were
// silent lately. Thread-safe.
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

  // The longest silence in a call that went well.
  void Record(milliseconds silence);
  // Three times the 95th percentile.
  milliseconds Delay() const;

 private:
  mutable std::mutex mutex_;
  std::array<milliseconds, 128> recent_{};
  size_t count_ = 0;
};

}  // namespace forebay::node
