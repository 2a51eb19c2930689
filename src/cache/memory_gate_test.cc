#include "cache/memory_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/size.h"

namespace forebay::cache {
namespace {

TEST(MemoryGate, LetsSoManyBytesThroughAtOnce) {
  MemoryGate gate(10 * kMiB, arrow::default_memory_pool());
  auto first = gate.Enter(6 * kMiB).ValueOrDie();
  std::atomic<bool> through{false};
  std::thread waits([&] {
    auto second = gate.Enter(50 * kMiB).ValueOrDie();  // more than all: alone
    through = true;
    std::memset(second->bytes().data(), 1, second->bytes().size());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(through);
  first.reset();
  waits.join();
  EXPECT_TRUE(through);
}

TEST(MemoryGate, StaysOpenAfterMemoryThatIsNotThere) {
  MemoryGate gate(10 * kMiB, arrow::default_memory_pool());
  EXPECT_FALSE(gate.Enter(uint64_t{1} << 60).ok());
  EXPECT_EQ(gate.Enter(10 * kMiB).ValueOrDie()->bytes().size(), 10 * kMiB);
  EXPECT_EQ(gate.Enter(0).ValueOrDie()->bytes().size(), 0);
}

}  // namespace
}  // namespace forebay::cache
