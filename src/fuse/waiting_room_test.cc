#include "fuse/waiting_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "support/no_threads.h"

namespace forebay::fuse {
namespace {

using Patience = WaitingRoom::Patience;

TEST(WaitingRoom, WhatIsThereIsHadWhileAllOthersWait) {
  std::promise<void> open;
  std::shared_future<void> gate = open.get_future().share();
  std::atomic<int> waited = 0, tried = 0;
  WaitingRoom room({.patient_max = 4, .brisk_max = 2});
  for (int i = 0; i < 100; ++i) {
    room.Submit(0, [&, gate](Patience patience) {
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
    room.Submit(0, [&](Patience) {
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
    room.Submit(0, [&](Patience patience) {
      how.set_value(patience);
      return true;
    });
    waited += how.get_future().get() == Patience::kWait ? 1 : 0;
  }
  EXPECT_GT(waited, 500);  // those that have just ended may still count
}

// A source that hangs, as its tasks see it.
class Hanging {
 public:
  ~Hanging() { Answer(); }
  void Submit(WaitingRoom& room, uint32_t source, int count) {
    for (int i = 0; i < count; ++i) {
      room.Submit(source, [this, gate = gate_](Patience patience) {
        if (patience == Patience::kTry) return false;
        ++waiting_;
        gate.wait();
        ++done_;
        return true;
      });
    }
  }
  void Answer() {
    if (!std::exchange(answered_, true)) open_.set_value();
  }
  void AwaitWaiting(int count) const {
    while (waiting_ < count) std::this_thread::yield();
  }
  void AwaitDone(int count) const {
    while (done_ < count) std::this_thread::yield();
  }

 private:
  std::promise<void> open_;
  std::shared_future<void> gate_ = open_.get_future().share();
  bool answered_ = false;
  std::atomic<int> waiting_ = 0, done_ = 0;
};

TEST(WaitingRoom, SourcesThatHangLeaveRoomToWaitForTheOthers) {
  Hanging first, second;
  WaitingRoom room({.patient_max = 8, .brisk_max = 2, .source_count = 3});
  first.Submit(room, 0, 50);
  first.AwaitWaiting(4);
  second.Submit(room, 1, 50);
  second.AwaitWaiting(2);
  for (int i = 0; i < 100; ++i) {
    std::promise<void> had;
    room.Submit(2, [&](Patience patience) {
      if (patience == Patience::kTry) return false;
      had.set_value();
      return true;
    });
    had.get_future().wait();
  }
  first.Answer();
  first.AwaitDone(50);
  second.Answer();
  second.AwaitDone(50);
}

TEST(WaitingRoom, TheOnlySourceHasAllRoom) {
  Hanging only;
  WaitingRoom room({.patient_max = 8, .brisk_max = 2});
  only.Submit(room, 0, 50);
  only.AwaitWaiting(8);
  only.Answer();
  only.AwaitDone(50);
}

TEST(WaitingRoom, LetsTheCallerWaitWhereNoThreadCanBeStarted) {
  testing_support::NoThreads limit;
  WaitingRoom room({.patient_max = 8, .brisk_max = 2});
  int done = 0;
  for (int i = 0; i < 3; ++i) {
    room.Submit(0, [&](Patience patience) {
      EXPECT_EQ(patience, Patience::kWait);
      ++done;
      return true;
    });
  }
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace forebay::fuse
