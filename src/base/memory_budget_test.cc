#include "base/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "base/size.h"

namespace forebay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Reservation = MemoryBudget::Reservation;

// Runs jobs one after the other on threads of their own, each started once the one
// before it is in line.
class Line {
 public:
  explicit Line(MemoryBudget* budget) : budget_(budget) {}
  ~Line() { Join(); }

  // Notes its name when it starts, and ends at once.
  void Add(int name, MemoryBudget::Request request) {
    size_t before = budget_->waiting();
    threads_.emplace_back([this, name, request] {
      auto reserved = budget_->Reserve(request);
      std::lock_guard lock(mutex_);
      if (reserved.ok()) started_.push_back(name);
    });
    while (budget_->waiting() == before && !Started(name)) std::this_thread::yield();
  }
  bool Started(int name) {
    std::lock_guard lock(mutex_);
    return std::ranges::find(started_, name) != started_.end();
  }
  std::vector<int> Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return started_;
  }

 private:
  MemoryBudget* budget_;
  std::mutex mutex_;
  std::vector<int> started_;
  std::vector<std::thread> threads_;
};

TEST(MemoryBudget, HandsOutExactlyItsCapacity) {
  MemoryBudget budget(10);
  auto first = budget.TryReserve(4);
  auto second = budget.TryReserve(6);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(budget.reserved_bytes(), 10);
  EXPECT_FALSE(budget.TryReserve(1));
  second.reset();
  EXPECT_EQ(budget.reserved_bytes(), 4);
  EXPECT_FALSE(budget.TryReserve(7));
  EXPECT_TRUE(budget.TryReserve(6));
  first.reset();
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(MemoryBudget, MovingAReservationGivesItBackOnce) {
  MemoryBudget budget(10);
  {
    Reservation outer;
    {
      Reservation inner = budget.Reserve({.bytes = 7}).ValueOrDie();
      outer = std::move(inner);
    }
    EXPECT_EQ(budget.reserved_bytes(), 7);
    Reservation moved(std::move(outer));
    EXPECT_EQ(budget.reserved_bytes(), 7);
  }
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(MemoryBudget, AJobLargerThanAllRunsAlone) {
  MemoryBudget budget(10);
  auto small = budget.TryReserve(1);
  Line line(&budget);
  line.Add(1, {.bytes = 1000});
  EXPECT_EQ(budget.waiting(), 1);
  small.reset();
  EXPECT_THAT(line.Join(), ElementsAre(1));
  auto large = budget.Reserve({.bytes = 11}).ValueOrDie();
  EXPECT_TRUE(large.alone());
  EXPECT_FALSE(budget.TryReserve(1));
}

TEST(MemoryBudget, OnlyTheWholeBudgetIsAlone) {
  MemoryBudget budget(10);
  EXPECT_FALSE(budget.Reserve({.bytes = 9}).ValueOrDie().alone());
  EXPECT_TRUE(budget.Reserve({.bytes = 0, .alone = true}).ValueOrDie().alone());
  EXPECT_FALSE(Reservation().alone());
}

TEST(MemoryBudget, SmallJobsDoNotOvertakeALargeOne) {
  MemoryBudget budget(10);
  auto held = budget.TryReserve(6);
  Line line(&budget);
  line.Add(1, {.bytes = 8});
  line.Add(2, {.bytes = 3});  // would fit beside what is held
  EXPECT_FALSE(budget.TryReserve(1));
  EXPECT_EQ(budget.waiting(), 2);
  held.reset();
  EXPECT_THAT(line.Join(), ElementsAre(1, 2));
}

TEST(MemoryBudget, UrgentJobsGoFirstAndEqualOnesInTheOrderTheyCame) {
  MemoryBudget budget(10);
  auto held = budget.TryReserve(10);
  std::atomic<int> now{0}, soon{1}, someday{2};
  Line line(&budget);
  line.Add(1, {.bytes = 10, .urgency = &someday});
  line.Add(2, {.bytes = 10, .urgency = &soon});
  line.Add(3, {.bytes = 10, .urgency = &soon});
  line.Add(4, {.bytes = 10, .urgency = &now});
  line.Add(5, {.bytes = 10});
  held.reset();
  EXPECT_THAT(line.Join(), ElementsAre(4, 5, 2, 3, 1));
}

TEST(MemoryBudget, AWaitingJobMayBecomeMoreUrgent) {
  MemoryBudget budget(10);
  auto held = budget.TryReserve(9);
  std::atomic<int> soon{1}, raised{2};
  Line line(&budget);
  line.Add(1, {.bytes = 10, .urgency = &soon});
  line.Add(2, {.bytes = 1, .urgency = &raised});
  raised = 0;
  budget.Reorder();  // now it is first in line, and fits
  while (budget.waiting() == 2) std::this_thread::yield();
  held.reset();
  EXPECT_THAT(line.Join(), ElementsAre(2, 1));
}

TEST(MemoryBudget, ADeadlineEndsTheWaitAndLeavesTheLine) {
  MemoryBudget budget(kKiB * 10);
  auto held = budget.TryReserve(kKiB * 4);
  auto late =
      budget.Reserve({.bytes = kKiB * 7, .deadline = Deadline::After(milliseconds(1))});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadline);
  EXPECT_THAT(late.status().message(), HasSubstr("7.0 KiB"));
  EXPECT_THAT(late.status().message(), HasSubstr("4.0 KiB of 10.0 KiB"));
  EXPECT_EQ(budget.waiting(), 0);
  EXPECT_EQ(budget.reserved_bytes(), kKiB * 4);
}

TEST(MemoryBudget, WhoeverGivesUpLetsTheNextOneStart) {
  MemoryBudget budget(10);
  auto held = budget.TryReserve(5);
  std::stop_source stop;
  Deadline stopped = Deadline::Never().StoppedBy(stop.get_token());
  Line line(&budget);
  line.Add(1, {.bytes = 10, .deadline = stopped});
  line.Add(2, {.bytes = 5});  // fits, once it is first in line
  stop.request_stop();
  EXPECT_THAT(line.Join(), ElementsAre(2));
  auto cancelled = budget.Reserve({.bytes = 1, .deadline = stopped});
  EXPECT_EQ(cancelled.status().code(), StatusCode::kCancelled);
}

TEST(MemoryBudget, AnExchangedReservationIsGivenBackBeforeTheWait) {
  MemoryBudget budget(10);
  Reservation held = budget.Reserve({.bytes = 6}).ValueOrDie();
  // It would wait for itself otherwise.
  held = budget.Reserve({.bytes = 10, .instead_of = &held}).ValueOrDie();
  EXPECT_EQ(budget.reserved_bytes(), 10);
  auto late = budget.Reserve({.bytes = 1, .deadline = Deadline::After(milliseconds(0))});
  EXPECT_FALSE(late.ok());
  held = {};
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(MemoryBudget, NobodyLessUrgentGetsInBetweenAnExchange) {
  MemoryBudget budget(10);
  Reservation held = budget.Reserve({.bytes = 6}).ValueOrDie();
  std::atomic<int> soon{1};
  Line line(&budget);
  line.Add(1, {.bytes = 10, .urgency = &soon});
  held = budget.Reserve({.bytes = 8, .instead_of = &held}).ValueOrDie();
  EXPECT_EQ(budget.waiting(), 1);
  held = {};
  EXPECT_THAT(line.Join(), ElementsAre(1));
}

TEST(MemoryBudget, AnExchangeThatFailsLeavesNothingReserved) {
  MemoryBudget budget(10);
  auto other = budget.TryReserve(4);
  Reservation held = budget.Reserve({.bytes = 6}).ValueOrDie();
  auto late = budget.Reserve(
      {.bytes = 7, .deadline = Deadline::After(milliseconds(1)), .instead_of = &held});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadline);
  EXPECT_EQ(budget.reserved_bytes(), 4);
}

TEST(MemoryBudget, NeverHandsOutMoreThanItHasHoweverManyAsk) {
  constexpr uint64_t kCapacity = 100;
  MemoryBudget budget(kCapacity);
  std::atomic<uint64_t> used{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 32; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 100; ++i) {
        uint64_t bytes = 1 + random() % 120;
        auto reserved = budget.Reserve({.bytes = bytes}).ValueOrDie();
        uint64_t counted = std::min(bytes, kCapacity);
        if ((used += counted) > kCapacity) over = true;
        used -= counted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(over);
  EXPECT_EQ(budget.reserved_bytes(), 0);
  EXPECT_EQ(budget.waiting(), 0);
}

}  // namespace
}  // namespace forebay
