// The one retry loop of all sources: jittered exponential backoff inside a deadline.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/status.h"
#include "source/source.h"

namespace forebay::source {

struct RetryPolicy {
  int attempts_max = 8;  // in a row without progress
  milliseconds backoff_first{100};
  milliseconds backoff_max{5'000};
};

// What one attempt came to. Only kUnavailable is tried again.
struct Attempt {
  Status status;
  bool progressed = false;        // some bytes are done for good: start counting anew
  milliseconds wait_at_least{0};  // the server said so (Retry-After)
};

// Calls `attempt` with the number of failures in a row so far. Ends with its first status
// that is not kUnavailable; with the last one after attempts_max; or with kDeadline as
// soon as the next attempt could not start in time. A stop ends its pauses.
Status Retry(const RetryPolicy& policy, Stats& stats, Deadline deadline,
             const std::function<Attempt(int failures)>& attempt);

// Half to all of min(backoff_first * 2^failures, backoff_max). `random` is in [0, 1).
milliseconds Backoff(const RetryPolicy& policy, int failures, double random);

}  // namespace forebay::source
