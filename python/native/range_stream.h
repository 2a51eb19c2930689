// All rows of a table in order, one row range at a time, each a slice of its mapping.
#pragma once

#include <memory>
#include <optional>

#include "native/arrow_capsules.h"
#include "native/selection.h"
#include "reader/chunk_table.h"

namespace forebay::python {

class RangeStream {
 public:
  RangeStream(std::shared_ptr<reader::RemoteTable> remote, Selection selection);

  // nullopt after the last. After an error the same range can be asked for again.
  Result<std::optional<ArrowBatch>> Next();

 private:
  Selection selection_;
  reader::ChunkTable table_;
  uint32_t next_ = 0;
};

}  // namespace forebay::python
