#include "table/unit_reader.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include <deque>
#include <optional>

#include "base/arrow_status.h"
#include "table/arrow_schema.h"
#include "table/files/decode_error.h"
#include "table/hive.h"
#include "table/piece_reader.h"

namespace forebay::table {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

struct UnitOptions {
  std::shared_ptr<source::Source> source;
  std::shared_ptr<const model::Manifest> manifest;
  uint32_t unit = 0;
  std::shared_ptr<arrow::Schema> schema;
  DecodeOptions decode;
};

class PieceByPiece : public UnitReader {
 public:
  explicit PieceByPiece(UnitOptions options)
      : options_(std::move(options)),
        partitions_(options_.manifest->schema()),
        by_id_(by_id::TableColumns::Make(options_.manifest->schema())) {}

  uint64_t OpenMemoryBytes() const override {
    if (unit().piece_count == 0) return 0;
    const auto& piece = options_.manifest->pieces()[unit().first_piece];
    const auto& object = options_.manifest->objects()[piece.object];
    return table::OpenMemoryBytes(object.format, object.size);
  }

  Result<uint64_t> MemoryBytes() override {
    if (!failure_.ok()) return failure_;
    auto bytes = EstimateMemory();
    if (!bytes.ok()) failure_ = bytes.status();
    return bytes;
  }

  Result<BatchPtr> Next() override {
    if (!failure_.ok()) return failure_;
    auto batch = NextRange();
    if (!batch.ok()) failure_ = batch.status();
    return batch;
  }

 private:
  const model::UnitRecord& unit() const {
    return options_.manifest->units()[options_.unit];
  }
  const model::RangeRecord& range(uint32_t i) const {
    return options_.manifest->ranges()[unit().first_range + i];
  }

  Result<uint64_t> EstimateMemory();
  uint64_t LargestObjectBytes() const;
  Result<BatchPtr> NextRange();
  Result<BatchPtr> TakeRows(int64_t count);
  // False when the unit has no more rows.
  Result<bool> Pull();
  int64_t BatchRows(const model::PieceRecord& piece) const;
  Status OpenPiece(const model::PieceRecord& piece);

  const UnitOptions options_;
  const PartitionKeys partitions_;
  const std::shared_ptr<const by_id::TableColumns> by_id_;
  std::unique_ptr<PieceReader> piece_;
  uint32_t next_piece_ = 0;
  uint32_t next_range_ = 0;
  std::deque<BatchPtr> waiting_;
  int64_t waiting_rows_ = 0;
  Status failure_;
};

// Files that share a unit are small and alike: the first one stands for all.
Result<uint64_t> PieceByPiece::EstimateMemory() {
  if (unit().piece_count == 0 || unit().range_count == 0) return 0;
  const model::PieceRecord& first = options_.manifest->pieces()[unit().first_piece];
  if (piece_ == nullptr) {
    FB_RETURN_NOT_OK(OpenPiece(first));
    ++next_piece_;
  }
  FB_ASSIGN_OR_RETURN(ReadMemory memory, piece_->Memory());
  uint64_t range_rows = 0;
  for (uint32_t i = 0; i < unit().range_count; ++i) {
    range_rows = std::max<uint64_t>(range_rows, range(i).stored_rows);
  }
  uint64_t batch_rows = std::max<uint64_t>(BatchRows(first), 1);
  uint64_t range_bytes =
      memory.batch_bytes * ((range_rows + batch_rows - 1) / batch_rows);
  uint64_t held = memory.held_bytes;
  if (unit().piece_count > 1) held = std::max(held, 2 * LargestObjectBytes());
  // The range as it is decoded, and a copy of it: in other types, or of several batches.
  return held + memory.batch_bytes + 2 * range_bytes;
}

uint64_t PieceByPiece::LargestObjectBytes() const {
  int64_t largest = 0;
  for (uint32_t i = 0; i < unit().piece_count; ++i) {
    const auto& piece = options_.manifest->pieces()[unit().first_piece + i];
    largest = std::max(largest, options_.manifest->objects()[piece.object].size);
  }
  return static_cast<uint64_t>(largest);
}

int64_t PieceByPiece::BatchRows(const model::PieceRecord& piece) const {
  return static_cast<int64_t>(std::min<uint64_t>(range(0).stored_rows, piece.row_count));
}

Result<BatchPtr> PieceByPiece::NextRange() {
  if (next_range_ == unit().range_count) return BatchPtr();
  int64_t rows = range(next_range_++).stored_rows;
  while (waiting_rows_ < rows) {
    FB_ASSIGN_OR_RETURN(bool more, Pull());
    if (!more) return Status::Internal("a fill unit has fewer rows than its ranges");
  }
  FB_ASSIGN_OR_RETURN(BatchPtr batch, TakeRows(rows));
  // The last range is handed out only when the files held no more than they promised.
  if (next_range_ == unit().range_count) {
    FB_ASSIGN_OR_RETURN(bool more, Pull());
    if (more) return Status::Internal("a fill unit has more rows than its ranges");
  }
  return batch;
}

Result<BatchPtr> PieceByPiece::TakeRows(int64_t count) {
  waiting_rows_ -= count;
  std::vector<BatchPtr> parts;
  while (count > 0) {
    BatchPtr& front = waiting_.front();
    if (front->num_rows() > count) {
      parts.push_back(front->Slice(0, count));
      front = front->Slice(count);
      break;
    }
    count -= front->num_rows();
    parts.push_back(std::move(front));
    waiting_.pop_front();
  }
  if (parts.size() == 1) return parts[0];
  auto whole = arrow::ConcatenateRecordBatches(parts, options_.decode.memory_pool);
  if (whole.ok()) return *whole;
  auto first = options_.manifest->pieces()[unit().first_piece].object;
  return DecodeError(whole.status()).WithContext(options_.manifest->object(first).uri);
}

Result<bool> PieceByPiece::Pull() {
  while (true) {
    if (piece_ == nullptr) {
      if (next_piece_ == unit().piece_count) return false;
      const auto& pieces = options_.manifest->pieces();
      FB_RETURN_NOT_OK(OpenPiece(pieces[unit().first_piece + next_piece_++]));
    }
    FB_ASSIGN_OR_RETURN(BatchPtr batch, piece_->Next());
    if (batch == nullptr) {
      piece_.reset();
    } else if (batch->num_rows() > 0) {
      waiting_rows_ += batch->num_rows();
      waiting_.push_back(std::move(batch));
      return true;
    }
  }
}

Status PieceByPiece::OpenPiece(const model::PieceRecord& piece) {
  PieceOptions options{.access = {.source = options_.source,
                                  .object = options_.manifest->object(piece.object),
                                  .memory_pool = options_.decode.memory_pool,
                                  .pool = options_.decode.pool,
                                  .deadline = options_.decode.deadline,
                                  .read_ns = options_.decode.read_ns},
                       .footers = options_.decode.footers,
                       .format = options_.manifest->objects()[piece.object].format,
                       .piece = piece,
                       .schema = options_.schema,
                       .partitions = &partitions_,
                       .by_id = by_id_,
                       .context = options_.manifest->context(piece.object),
                       .batch_rows = BatchRows(piece),
                       .file = nullptr};
  FB_ASSIGN_OR_RETURN(piece_, PieceReader::Open(std::move(options)));
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<UnitReader>> OpenUnit(
    std::shared_ptr<source::Source> source,
    std::shared_ptr<const model::Manifest> manifest, uint32_t unit,
    const model::Projection& columns, const DecodeOptions& options) {
  if (unit >= manifest->units().size()) {
    return Status::Invalid(fmt::format("there is no fill unit {}", unit));
  }
  FB_ASSIGN_OR_RETURN(auto schema, ChunkSchema(manifest->schema(), columns));
  UnitOptions unit_options{.source = std::move(source),
                           .manifest = std::move(manifest),
                           .unit = unit,
                           .schema = std::move(schema),
                           .decode = options};
  if (options.memory_pool == nullptr) {
    unit_options.decode.memory_pool = arrow::default_memory_pool();
  }
  return std::unique_ptr<UnitReader>(
      std::make_unique<PieceByPiece>(std::move(unit_options)));
}

}  // namespace forebay::table
