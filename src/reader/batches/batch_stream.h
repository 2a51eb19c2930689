// Batches of one epoch for one worker of one rank, in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/order.h"
#include "plan/sharding.h"
#include "reader/batches/batches.h"
#include "reader/batches/block_size.h"
#include "reader/batches/row_look_ahead.h"
#include "reader/chunk_table.h"
#include "reader/gather.h"
#include "reader/row_address.h"

namespace forebay::reader {

struct BatchOptions {
  model::Projection columns;
  plan::Order::Options order;
  plan::ShardOptions shards;  // of all rows, where it says 0 of them
  uint64_t start_step = 0;    // steps of this worker to leave out
  // Slices of chunks come from private, writable mappings instead of shared ones: for
  // consumers that cannot be told that memory is read-only.
  bool writable = false;
};

class BatchStream : public Batches {
 public:
  static Result<std::unique_ptr<BatchStream>> Make(std::shared_ptr<RemoteTable> remote,
                                                   std::shared_ptr<BufferPool> pool,
                                                   BatchOptions options);

  // Makes streams of a table that have these options, but for their share.
  static BatchMaker Maker(std::shared_ptr<RemoteTable> remote,
                          std::shared_ptr<BufferPool> pool, BatchOptions options);

  Result<std::optional<Batch>> Next() override;
  // Of this worker.
  uint64_t step_count() const { return shards_.worker_step_count(); }
  const plan::Shards& shards() const { return shards_; }

 private:
  BatchStream(std::shared_ptr<RemoteTable> remote, BatchOptions options,
              plan::Order order, plan::Shards shards);
  bool sequential() const;
  // The next batch's columns, from a block of several batches gathered together.
  Result<std::vector<Column>> FromBlock();
  Status GatherBlock();
  Result<std::vector<Column>> GatherHere(const std::vector<uint64_t>& row_counts);
  // From now on: the ranges of a block are more than can be at hand at once.
  void GoInPasses();
  Result<std::vector<Column>> GatherInPasses();
  // Rows come from the node's peers, where the node has no room for them.
  Status LookAhead(uint64_t batch_rows);
  // Brings the ranges of a block that reaches from one position to another.
  Status BringBlock(uint64_t first, uint64_t last);
  Status BringWindows(uint64_t first, uint64_t last);
  Status Locate(const plan::StepSlice& slice, std::span<RowAddress> out);
  Result<std::vector<Column>> FromRuns(const plan::StepSlice& slice);
  // Tells the node how far this is, and under pressure lets go of what lies behind.
  void Advance(uint64_t position);
  std::vector<Run> RunsOf(const plan::StepSlice& slice) const;
  std::vector<uint32_t> RangesOf(std::span<const Run> runs) const;
  Status BringRanges(std::span<const Run> runs);
  Column Slice(size_t i, const Run& run) const;

  struct Block {
    uint64_t first = 0;  // the worker's step it begins with
    std::vector<uint64_t> row_counts{};
    std::vector<Column> columns{};
    uint64_t rows_given = 0;
  };

  BatchOptions options_;
  plan::Order order_;
  plan::Shards shards_;
  ChunkTable table_;
  RowLocator locator_;
  std::vector<ColumnGatherer> gatherers_;
  uint64_t next_ = 0;
  std::chrono::steady_clock::time_point advanced_{};  // when progress was told last
  uint64_t steps_per_block_ = 1;
  Block block_;
  uint32_t wanted_until_ = 0;
  uint64_t window_ = ~uint64_t{0};  // the first one whose ranges are kept
  std::vector<uint64_t> rows_;
  std::vector<RowAddress> addresses_;
  std::unique_ptr<RowLookAhead> ahead_;  // null: rows are gathered here, from chunks
  // Of blocks that are gathered in passes over the table, each of which costs a decode of
  // all of it; none: all ranges of a block are at hand together.
  std::optional<BlockSize> pass_size_;
};

// The rows in the order given, gathered.
Result<Batch> Take(std::shared_ptr<RemoteTable> remote, std::shared_ptr<BufferPool> pool,
                   const model::Projection& columns, std::span<const uint64_t> rows);

}  // namespace forebay::reader
