#include "base/later_work.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace forebay {
namespace {

TEST(LaterWork, WorksOnAThreadOfItsOwn) {
  LaterWork out;
  std::promise<std::thread::id> who;
  out.Add(1, [&] { who.set_value(std::this_thread::get_id()); });
  EXPECT_NE(who.get_future().get(), std::this_thread::get_id());
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
