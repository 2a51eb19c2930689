// Blocks of rows of an order that the node's peers gather, asked for ahead of need
// (docs/adr/0017). Owned by one stream; not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "plan/order.h"
#include "plan/sharding.h"
#include "reader/chunk_table.h"
#include "reader/gather.h"
#include "reader/row_address.h"

namespace forebay::reader {

class RowLookAhead {
 public:
  struct Options {
    // All must outlive this.
    ChunkTable* table = nullptr;
    const plan::Order* order = nullptr;
    const plan::Shards* shards = nullptr;
    const RowLocator* locator = nullptr;
    uint64_t steps = 1;   // of a block
    uint64_t blocks = 4;  // under way at once
  };
  explicit RowLookAhead(Options options) : options_(options) {}
  ~RowLookAhead();  // tells the node that nobody waits for the rest
  RowLookAhead(const RowLookAhead&) = delete;
  RowLookAhead& operator=(const RowLookAhead&) = delete;

  // The columns of the block that begins with a step of the worker, filler included.
  // Blocks that follow it are asked for.
  Result<std::vector<Column>> Take(uint64_t first_step,
                                   std::span<const ColumnGatherer> gatherers);

 private:
  struct Block {
    uint64_t first = 0;  // step
    std::vector<uint64_t> rows;
    RemoteTable::GatherTicket ticket{};
  };
  uint64_t BlockEnd(uint64_t first) const;
  Block Ask(uint64_t first) const;
  void AskAhead(uint64_t first);
  void Drop();
  // Where the rows of a block are among the parts, then the ranges, then the filler.
  Status Locate(const Block& block, const RemoteTable::RowParts& parts);
  Status BringRanges(std::span<const uint64_t> rows, std::span<const size_t> places,
                     uint32_t first_source);

  const Options options_;
  std::deque<Block> blocks_;
  std::vector<RowAddress> addresses_;
  std::vector<uint32_t> ranges_;  // that are read from chunks, ascending
};

}  // namespace forebay::reader
