#include "reader/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace forebay::reader {
namespace {

TEST(BufferPool, GivesAlignedMemoryOfAtLeastTheSizeAskedFor) {
  auto pool = BufferPool::Make();
  for (uint64_t size = 0; size < (uint64_t{16} << 20); size = size * 5 / 4 + 1) {
    PooledBuffer buffer = pool->Take(size);
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_GE(buffer.capacity(), size + BufferPool::kPadding);
    EXPECT_LE(buffer.capacity(), (size + BufferPool::kPadding) * 5 / 4 + 1024);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
    std::memset(buffer.data(), 1, buffer.capacity());
  }
}

TEST(BufferPool, ReusesWhatWasGivenBack) {
  auto pool = BufferPool::Make();
  for (int i = 0; i < 100; ++i) {
    PooledBuffer a = pool->Take(100'000), b = pool->Take(100'000),
                 c = pool->Take(3 << 20);
    a.data()[0] = b.data()[0] = c.data()[0] = 1;
  }
  EXPECT_EQ(pool->fresh_count(), 3U);
}

TEST(BufferPool, KeepsNoMoreThanItMay) {
  auto pool = BufferPool::Make({.kept_bytes_max = 1 << 20});
  std::vector<PooledBuffer> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back(pool->Take(200'000));
  buffers.clear();
  EXPECT_LE(pool->kept_bytes(), uint64_t{1} << 20);
  EXPECT_GT(pool->kept_bytes(), uint64_t{1} << 19);
}

TEST(BufferPool, LivesAsLongAsItsLastBuffer) {
  auto pool = BufferPool::Make();
  PooledBuffer buffer = pool->Take(10);
  std::weak_ptr<BufferPool> weak = pool;
  pool.reset();
  EXPECT_FALSE(weak.expired());
  buffer.Reset();
  EXPECT_TRUE(weak.expired());
}

TEST(BufferPool, SaysWhenThereIsNoMemory) {
  auto pool = BufferPool::Make();
  EXPECT_EQ(pool->Take(uint64_t{1} << 60).data(), nullptr);
}

TEST(BufferPool, NeverHandsOneBlockToTwoThreads) {
  auto pool = BufferPool::Make();
  std::vector<std::thread> threads;
  std::atomic<int> clashes{0};
  for (uint8_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      for (int i = 0; i < 5000; ++i) {
        PooledBuffer buffer = pool->Take(2000);
        std::memset(buffer.data(), id, 2000);
        for (int k = 0; k < 2000; k += 100) clashes += buffer.data()[k] != id;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_LE(pool->fresh_count(), 4U);
}

TEST(BufferPool, TakesBlocksFromTheMemoryItIsGivenAndGivesThemBack) {
  std::set<uint8_t*> held;
  BufferPool::Memory memory{
      .allocate =
          [&](uint64_t size) {
            auto* block =
                static_cast<uint8_t*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
            held.insert(block);
            return block;
          },
      .release =
          [&](uint8_t* block) {
            EXPECT_EQ(held.erase(block), 1U);
            std::free(block);
          },
  };
  auto pool = BufferPool::Make({.kept_bytes_max = 10000, .memory = memory});
  {
    PooledBuffer kept = pool->Take(5000), freed = pool->Take(50000);
    EXPECT_TRUE(held.contains(kept.data()) && held.contains(freed.data()));
  }
  EXPECT_EQ(held.size(), 1U);
  EXPECT_TRUE(held.contains(pool->Take(5000).data()));
  pool.reset();
  EXPECT_TRUE(held.empty());
}

TEST(BufferPool, IsEmptyHandedWhenItsMemoryIs) {
  BufferPool::Memory memory{.allocate = [](uint64_t) -> uint8_t* { return nullptr; },
                            .release = [](uint8_t*) { FAIL(); }};
  auto pool = BufferPool::Make({.memory = memory});
  EXPECT_EQ(pool->Take(100).data(), nullptr);
}

TEST(BufferPool, WorksInAChildForkedWhileAnotherThreadUsesIt) {
  auto pool = BufferPool::Make();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) pool->Take(5000);
  });
  for (int i = 0; i < 50; ++i) {
    pid_t child = fork();
    if (child == 0) {
      PooledBuffer buffer = pool->Take(5000);
      std::memset(buffer.data(), 1, 5000);
      _exit(buffer.data()[4999] == 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace forebay::reader
