#include "reader/chunk_table.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/lending_node.h"

namespace forebay::reader {
namespace {

using testing_support::AllColumns;
using testing_support::kRangeRows;
using testing_support::kRanges;
using ChunkTableTest = testing_support::LendingNodeTest;

TEST_F(ChunkTableTest, AMappedLoanIsHeldAndACopiedOneIsGivenBack) {
  auto remote = Open();
  ChunkTable mapped(remote, AllColumns());
  ASSERT_EQ(mapped.Ensure(std::array{2U}), Status::OK());
  Settle(*remote);
  EXPECT_EQ(lent_, 1);
  EXPECT_TRUE(mapped.has_borrowed());
  mapped.DropBorrowed();
  EXPECT_FALSE(mapped.has_borrowed());
  remote->Poll();
  Settle(*remote);
  EXPECT_EQ(lent_, 0);

  ChunkTable copied(remote, AllColumns(), {.borrowed = Borrowed::kCopy});
  ASSERT_EQ(copied.Ensure(std::array{2U}), Status::OK());
  Settle(*remote);
  EXPECT_EQ(lent_, 0) << "it is in this process's memory";
  EXPECT_TRUE(copied.has_borrowed());
  EXPECT_EQ(copied.Sources(0)[2]->length, kRangeRows);
  copied.DropBefore(3);
  EXPECT_FALSE(copied.has_borrowed());
  Settle(*remote);
  EXPECT_EQ(lent_, 0) << "it is not given back twice";
}

TEST_F(ChunkTableTest, GivesBackWhatItHoldsWhenItEnds) {
  auto remote = Open();
  {
    ChunkTable mapped(remote, AllColumns());
    ASSERT_EQ(mapped.Ensure(std::array{2U}), Status::OK());
  }
  // Another connection looks: the dataset itself is open and asks for nothing more. What
  // it said last may reach the node a little later.
  ChunkTable other(Open(), AllColumns());
  Deadline soon = Deadline::After(std::chrono::seconds(60));
  Status got = other.Ensure(std::array{3U});
  while (!got.ok() && !soon.passed()) got = other.Ensure(std::array{3U});
  EXPECT_EQ(got, Status::OK());
}

TEST_F(ChunkTableTest, AsksToKeepOnlyWhatItMapsForLong) {
  auto remote = Open();
  ChunkTable mapped(remote, AllColumns());
  ASSERT_EQ(mapped.Ensure(std::array{0U}), Status::OK());
  mapped.DropBorrowed();
  ASSERT_EQ(mapped.EnsureBriefly(std::array{1U}), Status::OK());
  mapped.DropBorrowed();
  ASSERT_EQ(mapped.EnsureAlone(std::array{2U}), Status::OK());
  std::vector<bool> kept;
  for (const auto& get : node_->Heard<wire::GetChunks>(0)) {
    kept.push_back(get.keeps_borrowed);
  }
  EXPECT_EQ(kept, (std::vector<bool>{true, false, false}));
}

TEST_F(ChunkTableTest, SeveralRangesComeOneByOneWhereTheNodeLendsOne) {
  auto remote = Open();
  ChunkTable table(remote, AllColumns(), {.borrowed = Borrowed::kCopy});
  ASSERT_EQ(table.EnsureOrWait(std::array{0U, 1U, 4U}), Status::OK());
  for (uint32_t range = 0; range < kRanges; ++range) {
    EXPECT_EQ(table.Has(range), range < 2 || range == 4) << range;
  }
  int refused = refused_;
  EXPECT_EQ(refused, 1) << "only the request for all of them at once";
  ASSERT_EQ(table.EnsureOrWait(std::array{2U, 3U}), Status::OK());
  EXPECT_EQ(refused_, refused) << "it is known by now that several are too many";
  EXPECT_FALSE(table.Has(0)) << "earlier ranges make room";
  Settle(*remote);
  EXPECT_EQ(lent_, 0);
}

TEST_F(ChunkTableTest, AloneARangeIsCopiedAlsoForReadersThatMap) {
  auto remote = Open();
  ChunkTable table(remote, AllColumns());
  EXPECT_EQ(table.Ensure(std::array{0U, 1U}).code(), StatusCode::kFull);
  ASSERT_EQ(table.EnsureAlone(std::array{0U, 1U}), Status::OK());
  Settle(*remote);
  EXPECT_EQ(lent_, 0);
}

}  // namespace
}  // namespace forebay::reader
