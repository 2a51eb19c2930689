// Rows of a table by their numbers, many times over: what reader::Take does once, with
// the chunks kept at hand. Used by one thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "reader/batches/batch_stream.h"
#include "reader/chunk_table.h"
#include "reader/request/column_choice.h"

namespace forebay::flight {

class RowGather {
 public:
  static Result<std::unique_ptr<RowGather>> Make(
      std::shared_ptr<reader::RemoteTable> table,
      const std::shared_ptr<reader::BufferPool>& pool, reader::ColumnChoice choice);

  // In the order given, columns in the order asked for. kInvalid for a row that is not
  // there.
  Result<reader::Batch> Take(std::span<const uint64_t> rows);

 private:
  RowGather(std::shared_ptr<reader::RemoteTable> table, reader::ColumnChoice choice);

  reader::ColumnChoice choice_;
  reader::ChunkTable table_;
  reader::RowLocator locator_;
  std::vector<reader::ColumnGatherer> gatherers_;
  std::vector<reader::RowAddress> addresses_;
};

}  // namespace forebay::flight
