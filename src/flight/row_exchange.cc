#include "flight/row_exchange.h"

#include <arrow/api.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/arrow_status.h"
#include "flight/chunk_stream.h"
#include "flight/flight_status.h"
#include "flight/served_rows.h"

namespace forebay::flight {
namespace {

// The row numbers of a message; the batch keeps them.
Result<std::span<const uint64_t>> RowsOf(const arrow::RecordBatch& batch) {
  bool right = batch.num_columns() == 1 &&
               batch.column(0)->type_id() == arrow::Type::UINT64 &&
               batch.column(0)->null_count() == 0;
  if (!right) {
    return Status::Invalid(
        "row numbers come as one column of uint64 without nulls, not as " +
        batch.schema()->ToString());
  }
  // Of a client nothing is believed: buffers may be shorter than the batch says.
  FB_RETURN_NOT_OK(FromArrow(batch.ValidateFull()));
  const auto& array = static_cast<const arrow::UInt64Array&>(*batch.column(0));
  return std::span(array.raw_values(), static_cast<size_t>(array.length()));
}

// Of a damaged question the answer would be right and yet not what was asked for.
Status CheckQuestion(std::string_view descriptor, std::span<const uint64_t> rows,
                     const std::shared_ptr<arrow::Buffer>& metadata) {
  if (metadata == nullptr) {
    return Status::Invalid("row numbers of peers come with a checksum");
  }
  FB_ASSIGN_OR_RETURN(auto header,
                      ChunkHeader::Decode(static_cast<std::string_view>(*metadata)));
  if (header.checksum == RowsChecksum(descriptor, rows)) return Status::OK();
  return Status::Corrupt("row numbers were damaged on their way from a peer");
}

// Cuts a chunk into messages, the first of which has the header.
class ChunkMessages {
 public:
  ChunkMessages(const RowChunk& chunk, arrow::flight::FlightMessageWriter* out)
      : header_({.size = chunk.size(), .checksum = chunk.checksum()}), out_(*out) {}

  Status Append(const void* data, size_t size) {
    const auto* from = static_cast<const char*>(data);
    while (size > 0) {
      size_t part = std::min(size, kMessageBytes - pending_.size());
      pending_.append(from, part);
      from += part;
      size -= part;
      if (pending_.size() == kMessageBytes) FB_RETURN_NOT_OK(Flush());
    }
    return Status::OK();
  }
  Status Flush() {
    if (pending_.empty()) return Status::OK();
    auto size = static_cast<int64_t>(pending_.size());
    auto data = arrow::ArrayData::Make(
        arrow::uint8(), size,
        {nullptr, arrow::Buffer::FromString(std::exchange(pending_, {}))}, 0);
    auto batch = arrow::RecordBatch::Make(ChunkBytesSchema(), size, {std::move(data)});
    if (begun_) return FromArrow(out_.WriteRecordBatch(*batch));
    begun_ = true;
    return FromArrow(
        out_.WriteWithMetadata(*batch, arrow::Buffer::FromString(header_.Encode())));
  }

 private:
  static constexpr size_t kMessageBytes = size_t{2} << 20;

  const ChunkHeader header_;
  arrow::flight::FlightMessageWriter& out_;
  std::string pending_;
  bool begun_ = false;
};

Status WriteAsChunk(std::shared_ptr<arrow::RecordBatch> rows,
                    arrow::flight::FlightMessageWriter& out) {
  FB_ASSIGN_OR_RETURN(RowChunk chunk, RowChunk::Make(std::move(rows)));
  ChunkMessages messages(chunk, &out);
  FB_RETURN_NOT_OK(chunk.Write(
      [&](const void* data, size_t size) { return messages.Append(data, size); }));
  return messages.Flush();
}

}  // namespace

Status ExchangeRows(const RowsRequest& request, Tables& tables,
                    arrow::flight::FlightMessageReader& in,
                    arrow::flight::FlightMessageWriter& out) {
  FB_ASSIGN_OR_RETURN(auto served, ServedRows::Make(request, tables));
  FB_RETURN_NOT_OK(
      FromArrow(out.Begin(request.as_chunk ? ChunkBytesSchema() : served->schema())));
  for (;;) {
    FB_ASSIGN_OR_RETURN(auto message, FromArrow(in.Next()));
    if (message.data == nullptr && message.app_metadata == nullptr) break;
    if (message.data == nullptr) continue;
    FB_ASSIGN_OR_RETURN(auto rows, RowsOf(*message.data));
    if (request.as_chunk) {
      FB_RETURN_NOT_OK(CheckQuestion(in.descriptor().cmd, rows, message.app_metadata));
    }
    FB_ASSIGN_OR_RETURN(auto answer, served->Take(rows));
    FB_RETURN_NOT_OK(request.as_chunk ? WriteAsChunk(std::move(answer), out)
                                      : FromArrow(out.WriteRecordBatch(*answer)));
  }
  return FromArrow(out.Close());
}

}  // namespace forebay::flight
