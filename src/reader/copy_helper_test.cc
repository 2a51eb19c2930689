#include "reader/copy_helper.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace forebay::reader {
namespace {

std::vector<int> CountEach(CopyHelper& helper, size_t count) {
  std::vector<int> done(count);
  helper.Share(count, [&](size_t i) { ++done[i]; });
  return done;
}

TEST(CopyHelper, DoesEachPieceOnce) {
  CopyHelper helper;
  for (size_t count : {0, 1, 2, 100}) {
    EXPECT_EQ(CountEach(helper, count), std::vector<int>(count, 1));
  }
}

TEST(CopyHelper, ServesManyThreads) {
  CopyHelper helper;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(CountEach(helper, 20), std::vector<int>(20, 1));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(CopyHelper, WorksInAForkedChildAndEndsThere) {
  CopyHelper helper;
  CountEach(helper, 10);
  pid_t child = ::fork();
  if (child == 0) {
    bool ok = CountEach(helper, 10) == std::vector<int>(10, 1);
    helper.~CopyHelper();
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(CountEach(helper, 10), std::vector<int>(10, 1));
}

}  // namespace
}  // namespace forebay::reader
