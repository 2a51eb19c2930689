#include "fuse/waiting_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace forebay::fuse {
namespace {

using Patience = WaitingRoom::Patience;

TEST(WaitingRoom, WhatIsThereIsHadWhileAllOthersWait) {
  std::promise<void> open;
  std::shared_future<void> gate = open.get_future().share();
  std::atomic<int> waited = 0, tried = 0;
  WaitingRoom room({.patient_max = 4, .brisk_max = 2});
  for (int i = 0; i < 100; ++i) {
    room.Submit([&, gate](Patience patience) {
      if (patience == Patience::kTry) {
        ++tried;
        return false;
      }
      gate.wait();
      ++waited;
      return true;
    });
  }
  for (int i = 0; i < 20; ++i) {
    std::promise<void> had;
    room.Submit([&](Patience) {
      had.set_value();
      return true;
    });
    EXPECT_EQ(had.get_future().wait_for(std::chrono::seconds(20)),
              std::future_status::ready);
  }
  EXPECT_EQ(waited, 0);
  EXPECT_EQ(tried, 96) << "once each";
  open.set_value();
  while (waited < 100) std::this_thread::yield();
  EXPECT_EQ(tried, 96);
}

TEST(WaitingRoom, NobodyIsTriedWhileThereIsRoomToWait) {
  std::atomic<int> waited = 0;
  WaitingRoom room({.patient_max = 2, .brisk_max = 2});
  for (int i = 0; i < 1000; ++i) {
    std::promise<Patience> how;
    room.Submit([&](Patience patience) {
      how.set_value(patience);
      return true;
    });
    waited += how.get_future().get() == Patience::kWait ? 1 : 0;
  }
  EXPECT_GT(waited, 500);  // those that have just ended may still count
}

}  // namespace
}  // namespace forebay::fuse
