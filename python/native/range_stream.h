// All rows of a table in order, one row range at a time: a slice of its mapping where all
// of its rows live, else gathered.
#pragma once

#include <memory>
#include <optional>

#include "native/arrow_capsules.h"
#include "native/selection.h"
#include "reader/chunk_table.h"
#include "reader/gather.h"

namespace forebay::python {

class RangeStream {
 public:
  RangeStream(std::shared_ptr<reader::RemoteTable> remote,
              std::shared_ptr<reader::BufferPool> pool, Selection selection);

  // nullopt after the last. After an error the same range can be asked for again.
  Result<std::optional<ArrowBatch>> Next();

 private:
  Result<reader::Column> ColumnOf(size_t i, const std::vector<reader::Run>& runs) const;

  std::shared_ptr<reader::BufferPool> pool_;
  Selection selection_;
  reader::ChunkTable table_;
  uint32_t next_ = 0;
};

}  // namespace forebay::python
