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

  Result<BatchPtr> NextRange();
  Result<BatchPtr> TakeRows(int64_t count);
  // False when the unit has no more rows.
  Result<bool> Pull();
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
  int64_t batch_rows = std::min<uint64_t>(range(0).stored_rows, piece.row_count);
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
                       .batch_rows = batch_rows,
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
