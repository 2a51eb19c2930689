#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>

#include "support/no_threads.h"

namespace forebay {
namespace {

TEST(ThreadPool, RunsWhatWasSubmittedBeforeItGoes) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool(3);
    for (int i = 0; i < 1000; ++i) pool.Submit([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1000);
}

TEST(ThreadPool, RunsTasksAtTheSameTime) {
  ThreadPool pool(2);
  std::latch both(2);
  for (int i = 0; i < 2; ++i) pool.Submit([&] { both.arrive_and_wait(); });
}

TEST(ThreadPool, HasAtLeastOneThread) {
  ThreadPool pool(0);
  EXPECT_EQ(pool.thread_count(), 1U);
}

TEST(ThreadPool, RunsTasksOnTheCallerWhereNoThreadCanBeStarted) {
  std::vector<std::thread::id> who;
  testing_support::NoThreads limit;
  ThreadPool pool(4);
  for (int i = 0; i < 3; ++i) {
    pool.Submit([&] { who.push_back(std::this_thread::get_id()); });
  }
  EXPECT_EQ(who, std::vector(3, std::this_thread::get_id()));
  std::atomic<int> calls = 0;
  auto task = [&](size_t) {
    ++calls;
    return Status::OK();
  };
  EXPECT_TRUE(ParallelFor(pool, 50, task).ok());
  EXPECT_EQ(calls, 50);
}

TEST(ParallelFor, CallsEveryIndexOnce) {
  ThreadPool pool(3);
  for (size_t count : {0, 1, 2, 3, 100}) {
    std::vector<std::atomic<int>> calls(count);
    auto task = [&](size_t i) {
      ++calls[i];
      return Status::OK();
    };
    EXPECT_TRUE(ParallelFor(pool, count, task).ok());
    for (auto& n : calls) EXPECT_EQ(n, 1);
  }
}

TEST(ParallelFor, ReturnsTheFailureWithTheLowestIndex) {
  ThreadPool pool(3);
  std::latch all(4);  // every task runs before one fails, whichever is fastest
  auto task = [&](size_t i) {
    all.arrive_and_wait();
    return i == 0 ? Status::OK() : Status::Invalid(std::to_string(i));
  };
  EXPECT_EQ(ParallelFor(pool, 4, task), Status::Invalid("1"));
}

TEST(ParallelFor, StartsNothingAfterAFailure) {
  ThreadPool pool(1);
  std::atomic<size_t> calls = 0;
  auto task = [&](size_t) {
    ++calls;
    return Status::Cancelled("stop");
  };
  EXPECT_EQ(ParallelFor(pool, 1000, task), Status::Cancelled("stop"));
  EXPECT_LE(calls, 2U);
}

TEST(ParallelFor, EndsInsideATaskOfAFullPool) {
  ThreadPool pool(2);
  std::atomic<int> calls = 0;
  auto inner = [&](size_t) {
    ++calls;
    return Status::OK();
  };
  auto outer = [&](size_t) { return ParallelFor(pool, 50, inner); };
  EXPECT_TRUE(ParallelFor(pool, 20, outer).ok());
  EXPECT_EQ(calls, 1000);
}

}  // namespace
}  // namespace forebay
