#include "cache/block_memory_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/size.h"

namespace forebay::cache {
namespace {

constexpr int64_t kMiBytes = static_cast<int64_t>(kMiB);

uint8_t* Taken(BlockMemoryPool& pool, int64_t size) {
  uint8_t* block = nullptr;
  EXPECT_TRUE(pool.Allocate(size, 64, &block).ok());
  return block;
}

TEST(BlockMemoryPool, GivesAFreedBlockToTheNextOfItsSize) {
  BlockMemoryPool pool(64 * kMiBytes);
  uint8_t* first = Taken(pool, 8 * kMiBytes);
  pool.Free(first, 8 * kMiBytes, 64);
  EXPECT_EQ(pool.kept_bytes(), 8 * kMiBytes);
  EXPECT_EQ(Taken(pool, 5 * kMiBytes), first);
  EXPECT_EQ(pool.kept_bytes(), 0);
  pool.Free(first, 5 * kMiBytes, 64);
}

TEST(BlockMemoryPool, KeepsNoMoreThanItMayAndThoseFreedLast) {
  BlockMemoryPool pool(8 * kMiBytes);
  uint8_t* first = Taken(pool, 4 * kMiBytes);
  uint8_t* second = Taken(pool, 5 * kMiBytes);
  pool.Free(first, 4 * kMiBytes, 64);
  pool.Free(second, 5 * kMiBytes, 64);
  EXPECT_EQ(pool.kept_bytes(), 8 * kMiBytes);  // blocks are powers of two
  pool.ReleaseUnused();
  EXPECT_EQ(pool.kept_bytes(), 0);
}

TEST(BlockMemoryPool, SmallBlocksAreNotItsOwn) {
  BlockMemoryPool pool(8 * kMiBytes);
  uint8_t* block = Taken(pool, 1000);
  EXPECT_EQ(pool.bytes_allocated(), 1000);
  pool.Free(block, 1000, 64);
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_EQ(pool.kept_bytes(), 0);
}

TEST(BlockMemoryPool, BlocksThatShrinkGoBackWhereTheyAreFrom) {
  BlockMemoryPool pool(8 * kMiBytes);
  for (int64_t smaller :
       {int64_t{240'000}, BlockMemoryPool::kLargeBytes - 1, int64_t{1}, int64_t{0}}) {
    uint8_t* block = Taken(pool, BlockMemoryPool::kLargeBytes);
    block[0] = 7;
    ASSERT_TRUE(pool.Reallocate(BlockMemoryPool::kLargeBytes, smaller, 64, &block).ok());
    if (smaller > 0) {
      EXPECT_EQ(block[0], 7);
    }
    pool.Free(block, smaller, 64);
  }
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_EQ(pool.kept_bytes(), BlockMemoryPool::kLargeBytes);
}

TEST(BlockMemoryPool, SaysWhatTheSystemDoesNotHave) {
  BlockMemoryPool pool(0);
  uint8_t* block = nullptr;
  EXPECT_TRUE(pool.Allocate(int64_t{1} << 60, 64, &block).IsOutOfMemory());
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

// Every block holds its own byte all over; none is given out twice.
void UseAtRandom(BlockMemoryPool& pool, uint8_t mine, uint64_t seed) {
  struct Held {
    uint8_t* at;
    int64_t size;
  };
  std::mt19937_64 random(seed);
  std::vector<Held> held;
  auto check = [&](const Held& block, int64_t size) {
    for (int64_t i = 0; i < size; i += 1023) ASSERT_EQ(block.at[i], mine);
    if (size > 0) {
      ASSERT_EQ(block.at[size - 1], mine);
    }
  };
  for (int i = 0; i < 2000; ++i) {
    auto size = static_cast<int64_t>(random() % (uint64_t{1} << (10 + random() % 12)));
    size_t which = held.empty() ? 0 : random() % held.size();
    if (held.size() < 10) {
      held.push_back({Taken(pool, size), size});
      std::memset(held.back().at, mine, static_cast<size_t>(size));
    } else if (random() % 2 == 0) {
      Held& block = held[which];
      int64_t same = std::min(block.size, size);
      ASSERT_TRUE(pool.Reallocate(block.size, size, 64, &block.at).ok());
      check(block, same);
      block.size = size;
      std::memset(block.at, mine, static_cast<size_t>(size));
    } else {
      check(held[which], held[which].size);
      pool.Free(held[which].at, held[which].size, 64);
      held.erase(held.begin() + static_cast<ptrdiff_t>(which));
    }
  }
  for (const Held& block : held) pool.Free(block.at, block.size, 64);
}

TEST(BlockMemoryPool, BlocksAreOneThreadsWhileItHasThem) {
  BlockMemoryPool pool(4 * kMiBytes);
  std::vector<std::thread> threads;
  for (uint8_t i = 1; i <= 4; ++i) {
    threads.emplace_back([&pool, i] { UseAtRandom(pool, i, i); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_LE(pool.kept_bytes(), 4 * kMiBytes);
}

}  // namespace
}  // namespace forebay::cache
