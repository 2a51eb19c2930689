#include "source/deadline_call.h"

#include <gtest/gtest.h>

#include <semaphore>

namespace forebay::source {
namespace {

// A call that does not end before it is told to.
struct DeadlineCallTest : testing::Test {
  ~DeadlineCallTest() override { go_on->release(); }
  Status Call(Deadline deadline) {
    auto call = [go_on = go_on]() -> Result<int> {
      go_on->acquire();
      return 1;
    };
    return CallWithDeadline(call, deadline, "asking").status();
  }
  // The thread that was left behind may outlive the test.
  std::shared_ptr<std::binary_semaphore> go_on =
      std::make_shared<std::binary_semaphore>(0);
};

TEST_F(DeadlineCallTest, GivesTheAnswer) {
  auto answer = CallWithDeadline([] { return Result<int>(7); }, Deadline::Never(), "");
  EXPECT_EQ(answer.ValueOrDie(), 7);
}

TEST_F(DeadlineCallTest, LeavesACallBehindAtTheDeadline) {
  EXPECT_EQ(Call(Deadline::After(milliseconds(5))).code(), StatusCode::kDeadline);
}

TEST_F(DeadlineCallTest, LeavesACallBehindWhenAStopIsRequested) {
  std::stop_source stop;
  std::thread stopping([&] { stop.request_stop(); });
  auto start = std::chrono::steady_clock::now();
  Deadline deadline = Deadline::After(milliseconds(10'000)).StoppedBy(stop.get_token());
  EXPECT_FALSE(Call(deadline).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  stopping.join();
}

}  // namespace
}  // namespace forebay::source
