#include "table/memory_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace forebay::table {
namespace {

using ::testing::HasSubstr;

// Counts what runs at once.
class Load {
 public:
  void Add(uint64_t bytes) {
    uint64_t now = used_ += bytes;
    uint64_t peak = peak_;
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  void Remove(uint64_t bytes) { used_ -= bytes; }
  uint64_t used() const { return used_; }
  uint64_t peak() const { return peak_; }

 private:
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> peak_{0};
};

TEST(MemoryJobs, RunsEveryJobOnceUnderTheBudget) {
  for (size_t threads : {1, 4, 24}) {
    ThreadPool pool(threads);
    MemoryBudget budget(100);
    Load load;
    std::vector<std::atomic<int>> runs(200);
    auto bytes = [](size_t i) { return 1 + i * 7 % 120; };
    Status status = RunMemoryJobs({.count = runs.size(),
                                   .bytes = bytes,
                                   .run =
                                       [&](size_t i) {
                                         uint64_t counted =
                                             std::min<uint64_t>(bytes(i), 100);
                                         load.Add(counted);
                                         ++runs[i];
                                         load.Remove(counted);
                                         return Status::OK();
                                       },
                                   .pool = &pool,
                                   .budget = &budget});
    ASSERT_TRUE(status.ok()) << status;
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_LE(load.peak(), 100);
    EXPECT_EQ(budget.reserved_bytes(), 0);
  }
}

TEST(MemoryJobs, RunsWithoutAPoolAndWithoutABudget) {
  MemoryBudget budget(1);
  for (MemoryBudget* counted : {&budget, static_cast<MemoryBudget*>(nullptr)}) {
    int runs = 0;
    Status status = RunMemoryJobs({.count = 3,
                                   .bytes = [](size_t) { return 5; },
                                   .run =
                                       [&](size_t) {
                                         ++runs;
                                         return Status::OK();
                                       },
                                   .budget = counted});
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(runs, 3);
  }
}

TEST(MemoryJobs, JobsWithoutAThreadTakeNoMemoryFromOthers) {
  ThreadPool pool(1);
  MemoryBudget budget(100);
  std::atomic<uint64_t> most{0};
  Status status = RunMemoryJobs({.count = 50,
                                 .bytes = [](size_t) { return 1; },
                                 .run =
                                     [&](size_t) {
                                       most =
                                           std::max(most.load(), budget.reserved_bytes());
                                       return Status::OK();
                                     },
                                 .pool = &pool,
                                 .budget = &budget});
  EXPECT_TRUE(status.ok());
  EXPECT_LE(most, 2);  // the pool's thread and the caller
}

TEST(MemoryJobs, AJobThatRanOutOfMemoryRunsAgainAlone) {
  ThreadPool pool(4);
  MemoryBudget budget(100);
  Load load;
  std::vector<std::atomic<int>> runs(20);
  std::atomic<bool> company{false};
  Status status = RunMemoryJobs({.count = runs.size(),
                                 .bytes = [](size_t) { return 10; },
                                 .run = [&](size_t i) -> Status {
                                   load.Add(1);
                                   bool again = ++runs[i] > 1;
                                   company = company || (again && load.used() > 1);
                                   load.Remove(1);
                                   bool low = i % 5 == 0;  // the first one among them
                                   if (!low || again) return Status::OK();
                                   return Status::Full("no memory");
                                 },
                                 .pool = &pool,
                                 .budget = &budget});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(company);
  for (size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i], i % 5 == 0 ? 2 : 1);
}

TEST(MemoryJobs, AJobThatDoesNotFitAloneSaysSo) {
  MemoryBudget budget(100);
  std::vector<int> runs(3);
  auto run = [&](size_t i) {
    ++runs[i];
    return i == 1 ? Status::Full("big.parquet: no memory") : Status::OK();
  };
  Status status = RunMemoryJobs(
      {.count = 3, .bytes = [](size_t) { return 10; }, .run = run, .budget = &budget});
  EXPECT_EQ(status.code(), StatusCode::kFull);
  EXPECT_THAT(status.message(), HasSubstr("big.parquet: no memory"));
  EXPECT_THAT(status.message(), HasSubstr("nothing else"));
  EXPECT_THAT(runs, ::testing::ElementsAre(1, 2, 1));
  // One that was alone already need not be tried again.
  runs = {0, 0, 0};
  status = RunMemoryJobs(
      {.count = 3, .bytes = [](size_t) { return 100; }, .run = run, .budget = &budget});
  EXPECT_EQ(status.code(), StatusCode::kFull);
  EXPECT_THAT(status.message(), HasSubstr("nothing else"));
  EXPECT_THAT(runs, ::testing::ElementsAre(1, 1, 0));
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(MemoryJobs, AFailureEndsTheRunAndTheFirstByIndexIsReturned) {
  ThreadPool pool(4);
  MemoryBudget budget(100);
  std::atomic<int> runs{0};
  Status status = RunMemoryJobs({.count = 1000,
                                 .bytes = [](size_t) { return 50; },
                                 .run =
                                     [&](size_t i) {
                                       ++runs;
                                       return i >= 3 ? Status::Corrupt(std::to_string(i))
                                                     : Status::OK();
                                     },
                                 .pool = &pool,
                                 .budget = &budget});
  EXPECT_EQ(status, Status::Corrupt("3"));
  EXPECT_LT(runs, 20);
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(MemoryJobs, ADeadlineEndsTheWaitForMemory) {
  ThreadPool pool(2);
  MemoryBudget budget(100);
  auto held = budget.TryReserve(100);
  Status status = RunMemoryJobs({.count = 2,
                                 .bytes = [](size_t) { return 1; },
                                 .run = [](size_t) { return Status::OK(); },
                                 .pool = &pool,
                                 .budget = &budget,
                                 .deadline = Deadline::After(milliseconds(1))});
  EXPECT_EQ(status.code(), StatusCode::kDeadline);
  EXPECT_EQ(budget.waiting(), 0);
}

// Threads of the pool that wait for memory could keep those from running who have it.
TEST(MemoryJobs, NoThreadOfThePoolWaitsForMemory) {
  ThreadPool pool(1);
  MemoryBudget budget(10);
  std::vector<std::thread> callers;
  std::atomic<int> runs{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      Status status = RunMemoryJobs({.count = 20,
                                     .bytes = [](size_t i) { return 6 + i % 5; },
                                     .run =
                                         [&](size_t) {
                                           // As reading ranges does.
                                           return ParallelFor(pool, 3, [&](size_t) {
                                             ++runs;
                                             return Status::OK();
                                           });
                                         },
                                     .pool = &pool,
                                     .budget = &budget});
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(runs, 4 * 20 * 3);
}

}  // namespace
}  // namespace forebay::table
