// Time as a seam: a real clock, and one that tests move by hand. Monotonic only; wall
// time is asked for where a person or a file system needs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace forebay {

using TimePoint = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
  virtual int64_t WallNanos() const = 0;  // since 1970

  static const Clock& Real();
};

class FakeClock : public Clock {
 public:
  TimePoint Now() const override { return TimePoint(std::chrono::nanoseconds(nanos_)); }
  int64_t WallNanos() const override { return kWallStart + nanos_; }
  void Advance(std::chrono::nanoseconds by) { nanos_ += by.count(); }

 private:
  static constexpr int64_t kWallStart = 1'700'000'000'000'000'000;
  std::atomic<int64_t> nanos_{1};
};

// When a call must have ended. Passed by value down every call that may wait.
class Deadline {
 public:
  static Deadline After(milliseconds timeout) {
    return Deadline(std::chrono::steady_clock::now() + timeout);
  }
  static Deadline Never() { return Deadline(TimePoint::max()); }

  TimePoint when() const { return when_; }
  bool passed() const { return std::chrono::steady_clock::now() >= when_; }
  // Never negative; capped at a day so that it fits any timeout argument.
  milliseconds Remaining() const {
    if (when_ == TimePoint::max()) return std::chrono::hours(24);
    auto left = when_ - std::chrono::steady_clock::now();
    auto ms = std::chrono::ceil<milliseconds>(left);
    return std::clamp<milliseconds>(ms, milliseconds(0), std::chrono::hours(24));
  }

 private:
  explicit Deadline(TimePoint when) : when_(when) {}
  TimePoint when_;
};

}  // namespace forebay
