// Gathers rows of more ranges than can be at hand at once: in passes, each over some
// ranges of one unit, into parts; then all parts into the order asked for. Every pass
// lets go of the memory it borrowed from the node, so that this needs only as much as a
// few ranges, and twice the rows. Owned by one stream; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reader/chunk_table.h"
#include "reader/gather.h"
#include "reader/row_address.h"

namespace forebay::reader {

class PassGather {
 public:
  struct Options {
    ChunkTable* table = nullptr;  // must outlive this, as the gatherers must
    std::span<const ColumnGatherer> gatherers{};
    // Which projected column each gatherer gathers; none: the one of its own number.
    std::span<const uint32_t> places{};
  };
  explicit PassGather(Options options) : options_(options) {}

  // Rows by their place in the table; those of its filler included. kFull when not even
  // one range can be at hand.
  Result<std::vector<Column>> Gather(std::span<const RowAddress> rows);

 private:
  struct Part {
    std::vector<Column> columns;
  };
  // Rows [first, returned) of `order_`, whose ranges the next pass takes.
  size_t EndOfPass(std::span<const RowAddress> rows, size_t first) const;
  Status Bring(std::span<const RowAddress> rows, size_t first, size_t* last);
  Status TakePart(std::span<const RowAddress> rows, size_t first, size_t last);
  Result<std::vector<Column>> Join() const;

  const Options options_;
  uint32_t ranges_max_ = 8;      // of a pass; less once they were too many
  std::vector<uint32_t> order_;  // rows by range
  std::vector<Part> parts_;
  std::vector<RowAddress> places_;  // of the rows, in the parts
};

}  // namespace forebay::reader
