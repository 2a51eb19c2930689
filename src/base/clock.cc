#include "base/clock.h"

#include <condition_variable>
#include <mutex>

namespace forebay {
namespace {

class RealClock : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  int64_t WallNanos() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock clock;
  return clock;
}

bool SleepFor(milliseconds time, const Deadline& deadline) {
  TimePoint end = std::chrono::steady_clock::now() + time;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_until(lock, deadline.stop(), std::min(end, deadline.when()),
                     [] { return false; });
  return end <= deadline.when() && !deadline.stopped();
}

}  // namespace forebay
