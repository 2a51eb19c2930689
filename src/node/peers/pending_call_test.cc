#include "node/peers/pending_call.h"

#include <gtest/gtest.h>

#include <future>

namespace forebay::node {
namespace {

TEST(PendingCallTest, IsCalledOffWhileAllThreadsAreTaken) {
  std::promise<void> release;
  bool ran = false;
  PendingCall call;
  {
    ThreadPool pool(1);
    pool.Submit([wait = release.get_future().share()] { wait.wait(); });
    call.Submit(pool, [&] { ran = true; });
    EXPECT_TRUE(call.CallOff());
    release.set_value();
  }
  EXPECT_FALSE(ran);
}

TEST(PendingCallTest, CannotBeCalledOffOnceItRuns) {
  std::promise<void> begun;
  PendingCall call;
  ThreadPool pool(1);
  call.Submit(pool, [&] { begun.set_value(); });
  begun.get_future().wait();
  EXPECT_FALSE(call.CallOff());
}

}  // namespace
}  // namespace forebay::node
