#include "reader/batches/block_size.h"

#include <gtest/gtest.h>

namespace forebay::reader {
namespace {

TEST(BlockSizeTest, IsKnownAtOnceWhereAllRowsAreAsLarge) {
  BlockSize size(256, 16);
  EXPECT_EQ(size.steps() * 256, uint64_t{1} << 17);
  EXPECT_EQ(size.blocks(), 8U);
  BlockSize large(256, 65'536);
  EXPECT_EQ(large.steps(), 1U);
  EXPECT_EQ(large.blocks(), 2U);
  large.Learn(256, 1);
  EXPECT_EQ(large.steps(), 1U) << "the schema knows better";
}

TEST(BlockSizeTest, KeepsToOtherLimitsWhereThereAreSome) {
  EXPECT_EQ(BlockSize(10, 100, {.bytes = 5000, .rows = 1000}).steps(), 5U);
  EXPECT_EQ(BlockSize(10, 1, {.bytes = 5000, .rows = 70}).steps(), 7U);
  EXPECT_EQ(BlockSize(10, 100, {.bytes = 1, .rows = 1}).steps(), 1U) << "one at least";
  BlockSize learns(10, std::nullopt, {.bytes = 4000, .rows = 1000});
  for (int i = 0; i < 10; ++i) learns.Learn(10, 1000);
  EXPECT_EQ(learns.steps(), 4U);
}

TEST(BlockSizeTest, BeginsWithOneStepWhereRowsDiffer) {
  BlockSize size(256, std::nullopt);
  EXPECT_EQ(size.steps() * size.blocks(), 1U);
}

// 100 KB pictures, 64 in a step.
TEST(BlockSizeTest, StaysSmallForLargeTexts) {
  BlockSize size(64, std::nullopt);
  for (int i = 0; i < 20; ++i) {
    size.Learn(64, 64 * 100'000);
    EXPECT_LE(size.steps() * size.blocks() * 64 * 100'000, BlockSize::kAheadBytes);
  }
  EXPECT_EQ(size.steps(), 1U);
}

TEST(BlockSizeTest, GrowsToWholeBlocksOfSmallTexts) {
  BlockSize size(256, std::nullopt);
  uint64_t steps = size.steps();
  for (int i = 0; i < 20; ++i) {
    size.Learn(size.steps() * 256, size.steps() * 256 * 100);
    EXPECT_LE(size.steps(), steps * 2);
    steps = size.steps();
  }
  EXPECT_EQ(steps, BlockSize::kBytes / (256 * 100));
  size.Learn(steps * 256, steps * 256 * 10'000);  // larger ones begin
  EXPECT_LE(size.steps() * 256 * 10'000, BlockSize::kBytes);
}

}  // namespace
}  // namespace forebay::reader
