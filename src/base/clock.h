// Time as a seam: a real clock, and one that tests move by hand. Monotonic only; wall
// time is asked for where a person or a file system needs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

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

// When a call must have ended. Passed by value down every call that may wait. With a stop
// token it passes as soon as a stop is requested, and waits that look at it end then.
class Deadline {
 public:
  static Deadline After(milliseconds timeout) {
    return Deadline(std::chrono::steady_clock::now() + timeout);
  }
  static Deadline Never() { return Deadline(TimePoint::max()); }

  // The same moment with this token instead of any other.
  Deadline StoppedBy(std::stop_token stop) const {
    Deadline stoppable(when_);
    stoppable.stop_ = std::move(stop);
    return stoppable;
  }
  // The earlier of this deadline and `timeout` from now.
  Deadline Within(milliseconds timeout) const {
    TimePoint end = std::chrono::steady_clock::now() + timeout;
    return Deadline(std::min(when_, end)).StoppedBy(stop_);
  }

  TimePoint when() const { return when_; }
  const std::stop_token& stop() const { return stop_; }
  bool stopped() const { return stop_.stop_requested(); }
  bool passed() const { return stopped() || std::chrono::steady_clock::now() >= when_; }
  // Never negative; capped at a day so that it fits any timeout argument.
  milliseconds Remaining() const {
    if (stopped()) return milliseconds(0);
    if (when_ == TimePoint::max()) return std::chrono::hours(24);
    auto left = when_ - std::chrono::steady_clock::now();
    auto ms = std::chrono::ceil<milliseconds>(left);
    return std::clamp<milliseconds>(ms, milliseconds(0), std::chrono::hours(24));
  }

 private:
  explicit Deadline(TimePoint when) : when_(when) {}
  TimePoint when_;
  std::stop_token stop_;
};

// Sleeps for `time`, or until the deadline passes. False: the deadline came first.
bool SleepFor(milliseconds time, const Deadline& deadline);

}  // namespace forebay
