#include "cache/fill_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/size.h"
#include "table/capped_memory_pool.h"

namespace forebay::cache {
namespace {

class FillBufferTest : public ::testing::Test {
 protected:
  Result<FillBuffer> Make(uint64_t bytes, Deadline deadline = Deadline::Never()) {
    return FillBuffer::Make(bytes, {.budget = &budget_, .pool = &pool_}, deadline);
  }

  MemoryBudget budget_{10 * kMiB};
  table::CappedMemoryPool pool_{int64_t{1} << 40};
};

TEST_F(FillBufferTest, WaitsForMemoryThatOthersHoldAndGivesItBack) {
  {
    auto first = std::make_unique<FillBuffer>(Make(6 * kMiB).ValueOrDie());
    std::thread waits([&] {
      auto second = Make(50 * kMiB).ValueOrDie();  // more than all: alone
      std::memset(second.bytes().data(), 1, second.bytes().size());
      EXPECT_EQ(budget_.reserved_bytes(), 10 * kMiB);
      EXPECT_EQ(pool_.bytes_allocated(), 50 * kMiB);
    });
    while (budget_.waiting() == 0) std::this_thread::yield();
    EXPECT_EQ(pool_.bytes_allocated(), 6 * kMiB);
    first.reset();
    waits.join();
  }
  EXPECT_EQ(budget_.reserved_bytes(), 0);
  EXPECT_EQ(pool_.bytes_allocated(), 0);
}

TEST_F(FillBufferTest, ADeadlineEndsTheWait) {
  auto first = Make(6 * kMiB).ValueOrDie();
  auto second = Make(5 * kMiB, Deadline::After(milliseconds(1)));
  EXPECT_EQ(second.status().code(), StatusCode::kDeadline);
}

TEST_F(FillBufferTest, MemoryThatIsNotThereLeavesNothingReserved) {
  EXPECT_FALSE(Make(uint64_t{1} << 60).ok());
  EXPECT_EQ(budget_.reserved_bytes(), 0);
  EXPECT_EQ(Make(10 * kMiB).ValueOrDie().bytes().size(), 10 * kMiB);
  EXPECT_EQ(Make(0).ValueOrDie().bytes().size(), 0);
  EXPECT_EQ(pool_.bytes_allocated(), 0);
}

}  // namespace
}  // namespace forebay::cache
