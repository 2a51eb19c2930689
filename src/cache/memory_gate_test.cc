#include "cache/memory_gate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/size.h"

namespace forebay::cache {
namespace {

TEST(MemoryGate, UsesALargeBlockAgain) {
  MemoryGate gate(256 * kMiB);
  std::byte* first = nullptr;
  {
    MemoryGate::Pass pass(&gate, 16 * kMiB);
    first = pass.bytes().data();
    std::memset(first, 7, pass.bytes().size());
  }
  MemoryGate::Pass again(&gate, 15 * kMiB);
  EXPECT_EQ(again.bytes().data(), first);
  EXPECT_EQ(again.bytes().size(), 15 * kMiB);
  MemoryGate::Pass other(&gate, 15 * kMiB);
  EXPECT_NE(other.bytes().data(), first);
}

TEST(MemoryGate, ABlockThatIsMuchTooLargeIsNotTaken) {
  MemoryGate gate(256 * kMiB);
  std::byte* first = nullptr;
  {
    MemoryGate::Pass pass(&gate, 64 * kMiB);
    first = pass.bytes().data();
  }
  MemoryGate::Pass small(&gate, 2 * kMiB);
  EXPECT_NE(small.bytes().data(), first);
  EXPECT_EQ(MemoryGate::Pass(&gate, 100).bytes().size(), 100);
  EXPECT_EQ(MemoryGate::Pass(&gate, 0).bytes().size(), 0);
}

TEST(MemoryGate, LetsSoManyBytesThroughAtOnce) {
  MemoryGate gate(10 * kMiB);
  auto first = std::make_unique<MemoryGate::Pass>(&gate, 6 * kMiB);
  std::atomic<bool> through{false};
  std::thread waits([&] {
    MemoryGate::Pass second(&gate, 50 * kMiB);  // more than all: alone
    through = true;
    std::memset(second.bytes().data(), 1, second.bytes().size());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(through);
  first.reset();
  waits.join();
  EXPECT_TRUE(through);
}

}  // namespace
}  // namespace forebay::cache
