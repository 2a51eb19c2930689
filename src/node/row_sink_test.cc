#include "node/row_sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace forebay::node {
namespace {

class RowSinkTest : public ::testing::Test {
 protected:
  PeerRates rates_;
  PeerSigns signs_{&rates_};
  cache::RowBudget budget_{1'000};
};

TEST_F(RowSinkTest, MoreThanTheRowsCanBeIsRefusedBeforeItComes) {
  RowSink sink(&signs_, {.bytes = 100, .budget = &budget_});
  EXPECT_EQ(sink.Begin({.size = 101}).code(), StatusCode::kCorrupt);
  EXPECT_TRUE(budget_.Take(1'000)) << "nothing was taken for it";
}

TEST_F(RowSinkTest, OneChunkIsAllThatComes) {
  RowSink sink(&signs_, {});
  ASSERT_TRUE(sink.Begin({.size = 3, .checksum = HashBytes("abc")}).ok());
  ASSERT_TRUE(sink.Append("abc", 3).ok());
  ASSERT_TRUE(sink.End().ok());
  EXPECT_EQ(sink.Begin({.size = 3}).code(), StatusCode::kCorrupt);
}

TEST_F(RowSinkTest, RowsThatAreNotThoseThatWereSentAreFoundOut) {
  std::string sent(10'000, 'r');
  for (size_t at : {size_t{0}, size_t{4'999}, sent.size() - 1}) {
    std::string came = sent;
    came[at] ^= 4;
    RowSink sink(&signs_, {.budget = nullptr});
    ASSERT_TRUE(sink.Begin({.size = sent.size(), .checksum = HashBytes(sent)}).ok());
    ASSERT_TRUE(sink.Append(came.data(), 6'000).ok());
    ASSERT_TRUE(sink.Append(came.data() + 6'000, 4'000).ok());
    EXPECT_EQ(sink.End().code(), StatusCode::kCorrupt) << at;
  }
}

TEST_F(RowSinkTest, RowsWithoutAChecksumAreRefused) {
  RowSink sink(&signs_, {});
  ASSERT_TRUE(sink.Begin({.size = 3}).ok());
  ASSERT_TRUE(sink.Append("abc", 3).ok());
  EXPECT_EQ(sink.End().code(), StatusCode::kCorrupt);
}

TEST_F(RowSinkTest, FewerRowsThanWereAnnouncedAreRefused) {
  RowSink sink(&signs_, {});
  ASSERT_TRUE(sink.Begin({.size = 4, .checksum = HashBytes("abc")}).ok());
  ASSERT_TRUE(sink.Append("abc", 3).ok());
  EXPECT_EQ(sink.End().code(), StatusCode::kCorrupt);
}

TEST_F(RowSinkTest, RowsThatCameCanBeReadAndNotChanged) {
  RowSink sink(&signs_, {});
  ASSERT_TRUE(sink.Begin({.size = 6, .checksum = HashBytes("abcdef")}).ok());
  ASSERT_TRUE(sink.Append("abc", 3).ok());
  ASSERT_TRUE(sink.Append("def", 3).ok());
  ASSERT_TRUE(sink.End().ok());
  UniqueFd fd = sink.TakeFd();
  char bytes[7] = {};
  EXPECT_EQ(::pread(fd.get(), bytes, sizeof(bytes), 0), 6);
  EXPECT_STREQ(bytes, "abcdef");
  EXPECT_EQ(::pwrite(fd.get(), "x", 1, 0), -1);
}

TEST_F(RowSinkTest, RowsThatAreStillComingCountForAllOfThem) {
  std::optional<RowSink> first, second;
  first.emplace(&signs_, RowSink::Limits{.budget = &budget_});
  second.emplace(&signs_, RowSink::Limits{.budget = &budget_});
  ASSERT_TRUE(first->Begin({.size = 600}).ok());
  EXPECT_EQ(second->Begin({.size = 600}).code(), StatusCode::kFull);
  first.reset();  // broken off
  EXPECT_TRUE(second->Begin({.size = 600}).ok());
}

TEST_F(RowSinkTest, RowsThatWereTakenCountUntilTheyAreGivenBack) {
  std::string bytes(600, 'x');
  {
    RowSink sink(&signs_, {.budget = &budget_});
    ASSERT_TRUE(sink.Begin({.size = bytes.size(), .checksum = HashBytes(bytes)}).ok());
    ASSERT_TRUE(sink.Append(bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(sink.End().ok());
    EXPECT_TRUE(sink.TakeFd().valid());
  }
  EXPECT_FALSE(budget_.Take(600));
  budget_.Give(600);
  EXPECT_TRUE(budget_.Take(600));
}

}  // namespace
}  // namespace forebay::node
