#include "fuse/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace forebay::fuse {
namespace {

TEST(MemoryBudget, LetsGoBeforeTheCapIsReached) {
  uint64_t resident = 0;
  uint64_t highest = 0;
  int let_go = 0;
  MemoryBudget budget({.bytes_max = 8000,
                       .resident = [&] { return resident; },
                       .let_go =
                           [&] {
                             resident = 0;
                             ++let_go;
                           }});
  for (int i = 0; i < 1000; ++i) {
    resident += 100;
    highest = std::max(highest, resident);
    budget.Touched(100);
  }
  EXPECT_LT(highest, 8000);
  EXPECT_GE(let_go, 100'000 / 8000);
}

TEST(MemoryBudget, HoldsWhileLettingGoTakesLong) {
  std::atomic<uint64_t> resident = 0;
  std::atomic<uint64_t> highest = 0;
  auto slowly = [&] {
    for (int i = 0; i < 300; ++i) std::this_thread::yield();
    resident = 0;
  };
  MemoryBudget budget(
      {.bytes_max = 8000, .resident = [&] { return resident.load(); }, .let_go = slowly});
  auto touch = [&] {
    for (int i = 0; i < 2000; ++i) {
      uint64_t now = resident += 100;
      uint64_t before = highest;
      while (now > before && !highest.compare_exchange_weak(before, now)) {
      }
      budget.Touched(100);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(touch);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(highest, 8000);
}

TEST(MemoryBudget, LeavesPagesAloneThatFit) {
  int let_go = 0;
  MemoryBudget budget(
      {.bytes_max = 8000, .resident = [] { return 3900; }, .let_go = [&] { ++let_go; }});
  for (int i = 0; i < 1000; ++i) budget.Touched(100);
  EXPECT_EQ(let_go, 0);
}

TEST(MemoryBudget, KnowsItsProcess) { EXPECT_GT(ResidentBytes(), 100'000); }

}  // namespace
}  // namespace forebay::fuse
