#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace forebay {
namespace {

using std::chrono::steady_clock;

TEST(Deadline, PassesWhenAStopIsRequested) {
  std::stop_source stop;
  Deadline deadline = Deadline::Never().StoppedBy(stop.get_token());
  Deadline within = deadline.Within(std::chrono::hours(1));
  EXPECT_FALSE(deadline.passed());
  EXPECT_FALSE(within.passed());
  EXPECT_GT(within.Remaining(), std::chrono::minutes(59));
  stop.request_stop();
  EXPECT_TRUE(deadline.passed());
  EXPECT_TRUE(deadline.stopped());
  EXPECT_EQ(deadline.Remaining(), milliseconds(0));
  EXPECT_TRUE(within.stopped());
}

TEST(Deadline, WithinIsTheEarlierOfTwo) {
  Deadline late = Deadline::After(std::chrono::hours(2));
  Deadline soon = Deadline::After(milliseconds(0));
  EXPECT_LE(late.Within(std::chrono::hours(1)).Remaining(), std::chrono::hours(1));
  EXPECT_TRUE(soon.Within(std::chrono::hours(1)).passed());
}

TEST(SleepFor, SleepsAsLongAsItWasTold) {
  auto start = steady_clock::now();
  EXPECT_TRUE(SleepFor(milliseconds(20), Deadline::Never()));
  EXPECT_GE(steady_clock::now() - start, milliseconds(20));
}

TEST(SleepFor, EndsByTheDeadline) {
  EXPECT_FALSE(SleepFor(std::chrono::minutes(1), Deadline::After(milliseconds(5))));
}

TEST(SleepFor, EndsWhenAStopIsRequested) {
  std::stop_source stop;
  std::thread stopping([&] { stop.request_stop(); });
  EXPECT_FALSE(
      SleepFor(std::chrono::minutes(1), Deadline::Never().StoppedBy(stop.get_token())));
  stopping.join();
}

}  // namespace
}  // namespace forebay
