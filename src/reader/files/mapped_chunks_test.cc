#include "reader/files/mapped_chunks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace forebay::reader {
namespace {

ChunkPtr Chunk(uint32_t file, size_t bytes = 4096) {
  UniqueFd fd(::memfd_create("chunk", 0));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  auto chunk = std::make_shared<MappedChunk>();
  chunk->mapping = Mapping::Map(fd.get(), bytes, Mapping::Mode::kShared).ValueOrDie();
  chunk->handed.ref = {file, 0};
  return chunk;
}

// Two versions of a tree.
const int kOld = 0;
const int kNew = 0;

bool Has(MappedChunks& mapped, const int& owner, uint32_t file) {
  model::ChunkRef ref{file, 0};
  return mapped.Find(&owner, {&ref, 1}) != nullptr;
}

TEST(MappedChunks, TheOldestGoWhoeverTheyAreOf) {
  MappedChunks mapped({.bytes = 8 * 4096});
  for (uint32_t i = 0; i < 4; ++i) mapped.Keep(&kOld, Chunk(i), false);
  for (uint32_t i = 0; i < 4; ++i) mapped.Keep(&kNew, Chunk(i), false);
  EXPECT_EQ(mapped.bytes(), 8 * 4096);
  EXPECT_TRUE(Has(mapped, kOld, 0));  // and used just now
  mapped.Keep(&kNew, Chunk(9), false);
  EXPECT_EQ(mapped.bytes(), 6 * 4096) << "a quarter goes at once";
  EXPECT_TRUE(Has(mapped, kOld, 0));
  EXPECT_FALSE(Has(mapped, kOld, 1));
  EXPECT_TRUE(Has(mapped, kNew, 0));
}

TEST(MappedChunks, TheirNumberIsBoundedToo) {
  MappedChunks mapped({.bytes = 0, .count = 100});
  for (uint32_t i = 0; i < 1000; ++i) {
    mapped.Keep(i % 2 == 0 ? &kOld : &kNew, Chunk(i), false);
    EXPECT_LE(mapped.count(), 100);
  }
  EXPECT_GT(mapped.count(), 70);
}

TEST(MappedChunks, WhatIsInUseStays) {
  MappedChunks mapped({.bytes = 0, .count = 4});
  std::vector<ChunkPtr> used;
  for (uint32_t i = 0; i < 8; ++i) used.push_back(mapped.Keep(&kOld, Chunk(i), true));
  EXPECT_EQ(mapped.count(), 8);
  used.clear();
  mapped.Keep(&kOld, Chunk(9), true);
  EXPECT_EQ(mapped.count(), 1);
}

// In the tables of this process, as the kernel tells.
bool IsPresent(const ChunkPtr& chunk) {
  UniqueFd map(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  auto page = reinterpret_cast<uintptr_t>(chunk->mapping->bytes().data()) / 4096;
  uint64_t entry = 0;
  EXPECT_EQ(::pread(map.get(), &entry, sizeof(entry), static_cast<off_t>(page * 8)), 8);
  return (entry >> 63) != 0;
}

TEST(MappedChunks, PagesOfAReplyStayWhileItIsWritten) {
  MappedChunks mapped({});
  ChunkPtr used = mapped.Keep(&kOld, Chunk(1), false);
  std::weak_ptr<MappedChunk> idle = mapped.Keep(&kOld, Chunk(2), false);
  for (const ChunkPtr& chunk : {used, idle.lock()}) {
    EXPECT_EQ(*static_cast<const volatile char*>(chunk->mapping->bytes().data()), 0);
    ASSERT_TRUE(IsPresent(chunk));
  }
  mapped.LetGoOfPages();
  EXPECT_TRUE(IsPresent(used));
  EXPECT_FALSE(IsPresent(idle.lock()));
}

TEST(MappedChunks, OneMappingIsKeptOfAChunkThatCameTwice) {
  MappedChunks mapped({});
  ChunkPtr first = mapped.Keep(&kOld, Chunk(1), false);
  EXPECT_EQ(mapped.Keep(&kOld, Chunk(1), false), first);
  EXPECT_NE(mapped.Keep(&kNew, Chunk(1), false), first);
  EXPECT_EQ(mapped.bytes(), 2 * 4096);
  mapped.ForgetAll(&kOld);
  EXPECT_FALSE(Has(mapped, kOld, 1));
  EXPECT_TRUE(Has(mapped, kNew, 1));
  EXPECT_EQ(mapped.bytes(), 4096);
}

}  // namespace
}  // namespace forebay::reader
