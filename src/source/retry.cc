#include "source/retry.h"

#include <algorithm>
#include <random>
#include <string>

namespace forebay::source {
namespace {

double RandomUnit() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace

milliseconds Backoff(const RetryPolicy& policy, int failures, double random) {
  int64_t wait = policy.backoff_first.count() << std::clamp(failures, 0, 20);
  wait = std::min<int64_t>(wait, policy.backoff_max.count());
  return milliseconds(static_cast<int64_t>(static_cast<double>(wait) * (1 + random) / 2));
}

Status Retry(const RetryPolicy& policy, Stats& stats, Deadline deadline,
             const std::function<Attempt(int failures)>& attempt) {
  int failures = 0;
  for (;;) {
    Attempt outcome = attempt(failures);
    if (!IsRetryable(outcome.status)) return outcome.status;
    failures = outcome.progressed ? 0 : failures + 1;
    if (failures >= policy.attempts_max) {
      return {outcome.status.code(), outcome.status.message() + "; gave up after " +
                                         std::to_string(failures) + " attempts"};
    }
    milliseconds wait = std::max(Backoff(policy, std::max(failures - 1, 0), RandomUnit()),
                                 outcome.wait_at_least);
    if (wait >= deadline.Remaining()) {
      return Status::Deadline("time was up; the last failure was: " +
                              outcome.status.message());
    }
    ++stats.retries;
    SleepFor(wait, deadline);
  }
}

}  // namespace forebay::source
