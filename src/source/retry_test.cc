#include "source/retry.h"

#include <gtest/gtest.h>

#include <thread>

namespace forebay::source {
namespace {

const RetryPolicy kFast{4, milliseconds(1), milliseconds(4)};

TEST(Retry, TriesAgainUntilItSucceeds) {
  Stats stats;
  int calls = 0;
  Status status = Retry(kFast, stats, Deadline::Never(), [&](int failures) -> Attempt {
    EXPECT_EQ(failures, calls);
    ++calls;
    return {calls < 3 ? Status::Unavailable("not yet") : Status::OK()};
  });
  EXPECT_EQ(status, Status::OK());
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(stats.retries, 2u);
}

TEST(Retry, GivesUpAfterItsAttempts) {
  Stats stats;
  int calls = 0;
  Status status = Retry(kFast, stats, Deadline::Never(), [&](int) -> Attempt {
    ++calls;
    return {Status::Unavailable("down")};
  });
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(calls, 4);
}

TEST(Retry, CountsAnewAfterProgress) {
  Stats stats;
  int calls = 0;
  Status status = Retry(kFast, stats, Deadline::Never(), [&](int) -> Attempt {
    ++calls;
    return {calls < 20 ? Status::Unavailable("cut") : Status::OK(), true};
  });
  EXPECT_EQ(status, Status::OK());
  EXPECT_EQ(calls, 20);
}

TEST(Retry, LeavesOtherErrorsAlone) {
  Stats stats;
  int calls = 0;
  Status status = Retry(kFast, stats, Deadline::Never(), [&](int) -> Attempt {
    ++calls;
    return {Status::Permission("no")};
  });
  EXPECT_EQ(status.code(), StatusCode::kPermission);
  EXPECT_EQ(calls, 1);
}

TEST(Retry, EndsEarlyWhenTheNextAttemptCannotStartInTime) {
  Stats stats;
  Status status =
      Retry(kFast, stats, Deadline::After(milliseconds(500)), [](int) -> Attempt {
        return {Status::Unavailable("busy"), false, std::chrono::seconds(60)};
      });
  EXPECT_EQ(status.code(), StatusCode::kDeadline);
  EXPECT_NE(status.message().find("busy"), std::string::npos);
}

TEST(Retry, AStopEndsThePauseBetweenAttempts) {
  Stats stats;
  std::stop_source stop;
  std::thread stopping([&] {
    while (stats.retries == 0) std::this_thread::yield();  // it pauses, or is about to
    stop.request_stop();
  });
  auto start = std::chrono::steady_clock::now();
  Deadline deadline = Deadline::After(milliseconds(20'000)).StoppedBy(stop.get_token());
  Status status = Retry(kFast, stats, deadline, [&](int) -> Attempt {
    if (deadline.stopped()) return {Status::Cancelled("stopped")};
    return {Status::Unavailable("busy"), false, std::chrono::seconds(5)};
  });
  stopping.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Retry, BacksOffExponentiallyWithJitter) {
  RetryPolicy policy{8, milliseconds(100), milliseconds(5000)};
  EXPECT_EQ(Backoff(policy, 0, 0), milliseconds(50));
  EXPECT_EQ(Backoff(policy, 0, 1), milliseconds(100));
  EXPECT_EQ(Backoff(policy, 3, 1), milliseconds(800));
  EXPECT_EQ(Backoff(policy, 60, 1), milliseconds(5000));
}

}  // namespace
}  // namespace forebay::source
