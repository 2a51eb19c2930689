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
#include "reader/batches/block_size.h"
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
  };
  RowLookAhead(Options options, BlockSize size) : options_(options), size_(size) {}
  ~RowLookAhead();  // tells the node that nobody waits for the rest
  RowLookAhead(const RowLookAhead&) = delete;
  RowLookAhead& operator=(const RowLookAhead&) = delete;

  struct Taken {
    uint64_t steps = 0;
    std::vector<Column> columns{};  // filler included
  };
  // The block that begins with a step of the worker. Blocks that follow it are asked for.
  // After an error it can be asked for again.
  Result<Taken> Take(uint64_t first_step, std::span<const ColumnGatherer> gatherers);

 private:
  struct Block {
    uint64_t first = 0;  // step
    uint64_t end = 0;
    std::vector<uint64_t> rows;
    RemoteTable::GatherTicket ticket{};
  };
  Block Ask(uint64_t first) const;
  void AskAhead(uint64_t first);
  void Drop();
  Result<std::vector<Column>> Gather(const Block& block,
                                     std::span<const ColumnGatherer> gatherers);
  void Learn(const RemoteTable::RowParts& parts);
  // Where the rows of a block are among the parts, then the ranges or what was gathered
  // of them, then the filler.
  Status Locate(const Block& block, const RemoteTable::RowParts& parts,
                std::span<const ColumnGatherer> gatherers);
  // Rows that no peer gave, and their places among the addresses.
  struct InChunks {
    std::vector<uint64_t> rows{};
    std::vector<size_t> places{};
    uint32_t first_source = 0;
  };
  Status BringRanges(const InChunks& in, std::span<const ColumnGatherer> gatherers);
  Status GatherInPasses(const InChunks& in, std::span<const RowAddress> found,
                        std::span<const ColumnGatherer> gatherers);

  const Options options_;
  BlockSize size_;
  std::deque<Block> blocks_;
  std::vector<RowAddress> addresses_;
  std::vector<uint32_t> ranges_;  // that are read from chunks, ascending
  bool in_passes_ = false;        // ranges were more than can be at hand at once
  std::vector<Column> gathered_;  // in passes
};

}  // namespace forebay::reader
