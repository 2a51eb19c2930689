// Rows by number as answers to peers and clients: one table, one choice of columns, asked
// many times. Used by one thread.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <span>
#include <vector>

#include "flight/peer_request.h"
#include "flight/row_gather.h"
#include "flight/tables.h"
#include "table/encode_chunk.h"

namespace forebay::flight {

// In one question.
constexpr int64_t kExchangeRowsMax = int64_t{1} << 20;

class ServedRows {
 public:
  static Result<std::unique_ptr<ServedRows>> Make(const RowsRequest& request,
                                                  Tables& tables);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  // In the order given. kInvalid for a row that is not there, and for more than may be
  // asked for at once.
  Result<std::shared_ptr<arrow::RecordBatch>> Take(std::span<const uint64_t> rows);

 private:
  ServedRows() = default;

  Tables::Lease table_;
  std::vector<const model::Field*> fields_;
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<RowGather> gather_;
};

// Gathered rows as the bytes of a chunk (docs/formats/chunk.md), so that whoever gets
// them maps them as it maps any other.
class RowChunk {
 public:
  static Result<RowChunk> Make(std::shared_ptr<arrow::RecordBatch> batch);

  uint64_t size() const { return size_; }
  const Hash128& checksum() const { return checksum_; }  // HashBytes of all bytes
  // Exactly `size` bytes; columns are not copied.
  Status Write(const table::ByteSink& sink) const;

 private:
  explicit RowChunk(std::shared_ptr<arrow::RecordBatch> batch)
      : batch_(std::move(batch)) {}

  std::shared_ptr<arrow::RecordBatch> batch_;
  uint64_t size_ = 0;
  Hash128 checksum_{};
};

}  // namespace forebay::flight
