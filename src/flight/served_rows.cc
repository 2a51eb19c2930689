#include "flight/served_rows.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include "flight/arrow_batches.h"
#include "flight/planned_flight.h"

namespace forebay::flight {

Result<std::unique_ptr<ServedRows>> ServedRows::Make(const RowsRequest& request,
                                                     Tables& tables) {
  auto served = std::unique_ptr<ServedRows>(new ServedRows());
  FB_ASSIGN_OR_RETURN(served->table_, tables.Take(request.table));
  const model::Schema& schema = served->table_->manifest()->schema();
  FB_ASSIGN_OR_RETURN(auto choice,
                      reader::ColumnChoice::Of(*served->table_, request.columns));
  served->fields_ = choice.Fields(schema);
  FB_ASSIGN_OR_RETURN(served->schema_, ArrowSchemaOf(schema, served->fields_));
  FB_ASSIGN_OR_RETURN(served->gather_,
                      RowGather::Make(served->table_, tables.pool(), choice));
  return served;
}

Result<std::shared_ptr<arrow::RecordBatch>> ServedRows::Take(
    std::span<const uint64_t> rows) {
  if (rows.size() > kExchangeRowsMax) {
    return Status::Invalid(fmt::format("{} rows are asked for at once, at most {}",
                                       rows.size(), kExchangeRowsMax));
  }
  FB_RETURN_NOT_OK(CheckBatchBytes(fields_, rows.size()));
  FB_ASSIGN_OR_RETURN(reader::Batch batch, gather_->Take(rows));
  return ToRecordBatch(std::move(batch), schema_);
}

Result<RowChunk> RowChunk::Make(std::shared_ptr<arrow::RecordBatch> batch) {
  RowChunk chunk(std::move(batch));
  // Headers are made twice. The columns were gathered a moment ago, so hashing them costs
  // little: they are still in the processor's cache.
  Hasher hasher;
  FB_RETURN_NOT_OK(chunk.Write([&](const void* data, size_t size) {
    hasher.Update(data, size);
    chunk.size_ += size;
    return Status::OK();
  }));
  chunk.checksum_ = hasher.Digest();
  return chunk;
}

Status RowChunk::Write(const table::ByteSink& sink) const {
  return table::EncodeChunk(*batch_, sink);
}

}  // namespace forebay::flight
