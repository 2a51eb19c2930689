#include "base/later_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "support/no_threads.h"

namespace forebay {
namespace {

TEST(LaterWork, IsDoneAtOnceWhereNoThreadCanBeStarted) {
  LaterWork out;
  std::thread::id who;
  {
    testing_support::NoThreads limit;
    out.Add(1, [&] { who = std::this_thread::get_id(); });
    EXPECT_EQ(who, std::this_thread::get_id());
  }
  std::promise<std::thread::id> later;
  out.Add(1, [&] { later.set_value(std::this_thread::get_id()); });
  EXPECT_NE(later.get_future().get(), std::this_thread::get_id());
}

TEST(LaterWork, WorksOnAThreadOfItsOwn) {
  LaterWork out;
  std::promise<std::thread::id> who;
  out.Add(1, [&] { who.set_value(std::this_thread::get_id()); });
  EXPECT_NE(who.get_future().get(), std::this_thread::get_id());
}

TEST(LaterWork, WorkRestsUnlessMuchOfItWaits) {
  LaterWork out(std::chrono::hours(1));
  std::atomic<int> done = 0;
  out.Add(1, [&] { ++done; });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(done, 0);
  std::promise<void> second;
  out.Add(LaterWork::kBytesMax / 2, [&] { second.set_value(); });
  // The first makes way: what is left is more than half still.
  out.Add(LaterWork::kBytesMax / 4, [] {});
  second.get_future().wait();
  EXPECT_EQ(done, 1);
}

TEST(LaterWork, EndsInTheMiddleOfARest) {
  bool done = false;
  {
    LaterWork out(std::chrono::hours(1));
    out.Add(1, [&] { done = true; });
  }
  EXPECT_FALSE(done);
}

TEST(LaterWork, WhoeverGetsTooFarAheadWorksItself) {
  std::promise<void> go;
  LaterWork out;
  auto self = std::this_thread::get_id();
  out.Add(LaterWork::kBytesMax, [&, gone = go.get_future().share()] { gone.wait(); });
  bool here = false;
  out.Add(1, [&] { here = std::this_thread::get_id() == self; });
  EXPECT_TRUE(here);
  go.set_value();
}

TEST(LaterWork, TheNumberOfWaitingOnesIsBoundedToo) {
  std::promise<void> go;
  std::promise<void> begun;
  int here = 0;
  {
    LaterWork out;
    auto self = std::this_thread::get_id();
    out.Add(0, [&, gone = go.get_future().share()] {
      begun.set_value();
      gone.wait();
    });
    begun.get_future().wait();
    for (size_t i = 0; i < LaterWork::kCountMax + 3; ++i) {
      out.Add(0, [&] { here += std::this_thread::get_id() == self ? 1 : 0; });
    }
    EXPECT_EQ(here, 3);
    go.set_value();
  }
}

}  // namespace
}  // namespace forebay
