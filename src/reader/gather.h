// Collects rows from many chunks into one column of a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "model/schema.h"
#include "reader/buffer_pool.h"
#include "reader/column.h"
#include "reader/copy_helper.h"
#include "reader/gather_runs.h"
#include "reader/ipc_layout.h"
#include "reader/row_address.h"

namespace forebay::reader {

// Gathers one column. Read-only, so one gatherer may serve many threads.
//
//   sources[i]  the column in chunk i; may be null where no row names i
//   rows        any rows, any order, repeats allowed; each must be inside its source
//
// Speed: give it many rows at once and Slice() the result into batches; consecutive rows
// are copied as blocks. Rows that all follow each other need no gather: SliceChunk.
class ColumnGatherer {
 public:
  // `helper`, if any, must outlive the gatherer.
  static Result<ColumnGatherer> Make(const model::Field& field,
                                     std::shared_ptr<BufferPool> pool,
                                     CopyHelper* helper = nullptr);

  // kFull when 32-bit offsets would overflow or memory is short; kCorrupt when a source's
  // offsets make no sense.
  Result<Column> Gather(std::span<const ChunkColumn* const> sources,
                        std::span<const RowAddress> rows) const;
  // Rows given as runs of followers: no work for each row.
  Result<Column> Gather(std::span<const ChunkColumn* const> sources,
                        std::span<const Run> runs) const;

 private:
  ColumnGatherer(const model::Field& field, std::shared_ptr<BufferPool> pool,
                 CopyHelper* helper)
      : field_(&field), pool_(std::move(pool)), helper_(helper) {}

  const model::Field* field_;
  std::shared_ptr<BufferPool> pool_;
  CopyHelper* helper_;
};

// One row of zeros, empty strings and empty lists, for the masked rows of `pad`: put it
// among the sources and name its row 0. Owns its bytes.
Result<std::shared_ptr<const ChunkColumn>> MakeFiller(const model::Field& field);

}  // namespace forebay::reader
