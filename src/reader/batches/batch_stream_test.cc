#include "reader/batches/batch_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/lending_node.h"

namespace forebay::reader {
namespace {

using testing_support::AllColumns;
using testing_support::kRangeRows;
using testing_support::kRanges;

class BatchStreamTest : public testing_support::LendingNodeTest {
 protected:
  static std::unique_ptr<BatchStream> Sequential(std::shared_ptr<RemoteTable> remote,
                                                 uint64_t batch_rows,
                                                 bool writable = false) {
    BatchOptions options;
    options.columns = AllColumns();
    options.order.mode = plan::OrderMode::kSequential;
    options.shards.batch_size = batch_rows;
    options.writable = writable;
    return BatchStream::Make(std::move(remote), BufferPool::Make(), options).ValueOrDie();
  }
  static std::unique_ptr<BatchStream> Window(std::shared_ptr<RemoteTable> remote,
                                             uint64_t window_ranges) {
    BatchOptions options;
    options.columns = AllColumns();
    options.order.mode = plan::OrderMode::kWindow;
    options.order.window_ranges = window_ranges;
    options.shards.batch_size = kRangeRows;
    return BatchStream::Make(std::move(remote), BufferPool::Make(), options).ValueOrDie();
  }
};

TEST_F(BatchStreamTest, SequentialBatchesThatAreKeptHoldNoLoan) {
  for (bool writable : {false, true}) {
    auto remote = Open();
    // Batches within a range, and over several.
    for (uint64_t rows : {2U, 5U, 30U}) {
      auto stream = Sequential(remote, rows, writable);
      std::vector<Batch> kept;
      for (;;) {
        auto batch = stream->Next();
        ASSERT_TRUE(batch.ok()) << rows << ": " << batch.status();
        if (!*batch) break;
        kept.push_back(**std::move(batch));
        Settle(*remote);
        ASSERT_EQ(lent_, 0) << "while the consumer has batch " << kept.size();
      }
      EXPECT_EQ(kept.size(), kRanges * kRangeRows / rows);
    }
    EXPECT_TRUE(node_->Heard<wire::Want>(0).empty())
        << "what no tier takes cannot be read ahead";
  }
}

TEST_F(BatchStreamTest, ReadersThatReadAtOnceAllComeToTheEnd) {
  auto one = Sequential(Open(), 3);
  auto other = Sequential(Open(), 10);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*one->Next()).has_value()) << i;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*other->Next()).has_value()) << i;
}

TEST_F(BatchStreamTest, WindowsThatAreThroughHoldNoLoan) {
  for (uint64_t window : {1U, 2U}) {
    auto remote = Open();
    auto stream = Window(remote, window);
    uint64_t rows = 0;
    for (;;) {
      auto batch = stream->Next();
      ASSERT_TRUE(batch.ok()) << batch.status();
      if (!*batch) break;
      rows += (*batch)->row_count;
    }
    EXPECT_EQ(rows, kRanges * kRangeRows);
    // Another reader finds the memory free, though this one has not gone.
    auto batch = Sequential(Open(), 5)->Next();
    ASSERT_TRUE(batch.ok() && batch->has_value()) << window << ": " << batch.status();
  }
}

TEST_F(BatchStreamTest, BlocksGatheredInPassesHoldNoLoan) {
  auto remote = Open();
  auto stream = Window(remote, 2);
  for (uint32_t i = 0; i < kRanges; ++i) {
    ASSERT_TRUE((*stream->Next()).has_value());
    Settle(*remote);
    ASSERT_EQ(lent_, 0) << "while the consumer has batch " << i;
  }
}

TEST_F(BatchStreamTest, RowsThatNoPeerGivesAreGatheredInPasses) {
  auto remote = Open(std::chrono::seconds(60), "forebay://127.0.0.1:1/t");
  BatchOptions options;
  options.columns = AllColumns();
  options.order.mode = plan::OrderMode::kGlobal;
  options.shards.batch_size = 7;
  options.shards.remainder = plan::Remainder::kPad;
  auto stream = BatchStream::Make(remote, BufferPool::Make(), options).ValueOrDie();
  for (int i = 0; i < 5; ++i) {
    auto batch = stream->Next();
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_TRUE(batch->has_value());
    EXPECT_EQ((*batch)->row_count, 7U);
  }
  Settle(*remote);
  EXPECT_FALSE(node_->Heard<wire::GetGathered>(0).empty()) << "peers were asked first";
  EXPECT_EQ(lent_, 0);
}

TEST_F(BatchStreamTest, WaitsWhileOthersHoldTheMemory) {
  refusals_left_ = 3;
  auto stream = Sequential(Open(), 5);
  auto batch = stream->Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(refused_, 3);
}

TEST_F(BatchStreamTest, GivesUpWhenOthersKeepTheMemory) {
  lent_ = 1;  // by a reader that keeps it
  auto stream = Sequential(Open(/*timeout=*/std::chrono::seconds(2)), 5);
  EXPECT_EQ(stream->Next().status(), Status::Full("readers hold all of it"));
  EXPECT_GT(refused_, 4);
}

}  // namespace
}  // namespace forebay::reader
