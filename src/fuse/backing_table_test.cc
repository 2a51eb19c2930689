#include "fuse/backing_table.h"

#include <gtest/gtest.h>

namespace forebay::fuse {
namespace {

class BackingTableTest : public ::testing::Test {
 protected:
  int next_ = 1;
  std::multiset<int> open_;
  bool refuse_ = false;
  BackingTable table_{{.open =
                           [this](int) {
                             if (refuse_) return -1;
                             open_.insert(next_);
                             return next_++;
                           },
                       .close = [this](int id) { open_.erase(id); }}};
};

TEST_F(BackingTableTest, AnInodeHasOneFileWhileItIsOpen) {
  EXPECT_EQ(table_.Find(7, 1), BackingTable::kUnknown);
  int id = table_.Open(7, 1, 33);
  EXPECT_EQ(table_.Find(7, 2), id);
  EXPECT_EQ(table_.Open(7, 3, 44), id);
  table_.Close(7, 1);
  table_.Close(7, 2);
  EXPECT_EQ(table_.Find(7, 4), id);
  table_.Close(7, 3);
  EXPECT_EQ(open_.size(), 1);
  table_.Close(7, 4);
  EXPECT_TRUE(open_.empty());
  EXPECT_NE(table_.Open(7, 5, 33), id);
}

TEST_F(BackingTableTest, AnOpenThatIsSentAgainIsTheSameOpen) {
  table_.Open(7, 1, 33);
  table_.Open(7, 1, 33);
  table_.Close(7, 1);
  EXPECT_EQ(table_.size(), 0);
}

TEST_F(BackingTableTest, AHandleIsClosedOnceHoweverOftenItIsSaid) {
  int id = table_.Open(7, 1, 33);
  table_.Open(7, 2, 33);
  table_.Close(7, 1);
  table_.Close(7, 1);
  EXPECT_EQ(table_.Find(7, 3), id);
}

TEST_F(BackingTableTest, WhatTheKernelRefusesIsReadThroughUsForAsLongAsItIsOpen) {
  refuse_ = true;
  EXPECT_EQ(table_.Open(7, 1, 33), 0);
  refuse_ = false;
  EXPECT_EQ(table_.Open(7, 2, 33), 0);
  EXPECT_EQ(table_.Open(8, 1, -1), 0);
  table_.Close(7, 1);
  table_.Close(7, 2);
  EXPECT_GT(table_.Open(7, 3, 33), 0);
}

}  // namespace
}  // namespace forebay::fuse
