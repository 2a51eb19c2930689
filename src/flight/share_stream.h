// Rows of a table, in its order, in batches that this side cuts: slices of mapped chunks,
// so that no byte is copied where all rows of a range live.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reader/batches/batch_stream.h"
#include "reader/buffer_pool.h"
#include "reader/remote_table.h"

namespace forebay::flight {

// Large enough that a message's fixed costs do not show, small enough for the allocator
// of a stock client, which copies each message: at 2 MiB it faults in a half more pages.
constexpr uint64_t kCutBytes = uint64_t{1} << 20;

struct Share {
  uint64_t first = 0;
  uint64_t last = 0;  // one past its end

  uint64_t rows() const { return last - first; }
  // The rank's part of the rows from `start` on: parts differ by one row at most.
  static Share Of(uint64_t rows, uint64_t start, uint64_t rank, uint64_t world_size);
};

// Used by one thread.
class ShareStream {
 public:
  // The shares are ascending, and lie within the table.
  ShareStream(std::shared_ptr<reader::RemoteTable> remote,
              std::shared_ptr<reader::BufferPool> pool, model::Projection columns,
              std::vector<Share> shares);

  // nullopt after the last. Columns are in the order of the projection.
  Result<std::optional<reader::Batch>> Next();

 private:
  struct Part {  // a projected column in the range at hand
    const reader::ChunkColumn* column = nullptr;
    std::shared_ptr<const void> owner{};
  };

  const model::Manifest& manifest() const { return *remote_->manifest(); }
  // Goes on to the share that holds the next row; false at the end.
  bool FindNext();
  bool Touches(uint32_t range, size_t* share) const;
  std::vector<model::ChunkRef> RefsOf(uint32_t range) const;
  Status Bring(uint32_t range);
  Result<std::vector<reader::RemoteTable::ChunkPtr>> Acquire(
      std::span<const model::ChunkRef> refs);
  void LookAhead();
  Result<reader::Column> ColumnOf(size_t i, const std::vector<reader::Run>& runs) const;

  std::shared_ptr<reader::RemoteTable> remote_;
  std::shared_ptr<reader::BufferPool> pool_;
  const model::Projection columns_;
  const std::vector<Share> shares_;
  const uint32_t view_;
  size_t share_ = 0;                 // that is being read
  uint64_t next_ = 0;                // the row that comes next
  uint32_t range_ = 0;               // that holds it
  std::optional<uint32_t> brought_;  // the range whose parts are at hand
  std::vector<Part> parts_;          // of each projected column
  uint64_t batch_rows_ = 0;          // in this range
  uint32_t wanted_until_ = 0;
};

}  // namespace forebay::flight
