// How long a call's peer has said nothing. One thread hears, others look.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace forebay::node {

class Silence {
 public:
  void Heard() {
    TimePoint now = Clock::Real().Now();
    auto gap = std::chrono::duration_cast<milliseconds>(now - heard_.load());
    longest_ = std::max(longest_, gap);
    heard_ = now;
  }
  // What was before does not count.
  void Begin() { heard_ = Clock::Real().Now(); }
  // It will be silent, however well it is: nothing follows from that.
  void Expect() { expected_ = true; }

  bool expected() const { return expected_; }
  milliseconds now() const {
    return std::chrono::duration_cast<milliseconds>(Clock::Real().Now() - heard_.load());
  }
  // Between two signs; by whoever hears.
  milliseconds longest() const { return longest_; }

 private:
  std::atomic<TimePoint> heard_{Clock::Real().Now()};
  std::atomic<bool> expected_{false};
  milliseconds longest_{0};
};

}  // namespace forebay::node
