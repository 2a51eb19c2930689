#include "flight/row_exchange.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include "base/arrow_status.h"
#include "flight/arrow_batches.h"
#include "flight/flight_status.h"
#include "flight/planned_flight.h"
#include "flight/row_gather.h"

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
  if (batch.num_rows() > kExchangeRowsMax) {
    return Status::Invalid(fmt::format("{} rows are asked for at once, at most {}",
                                       batch.num_rows(), kExchangeRowsMax));
  }
  // Of a client nothing is believed: buffers may be shorter than the batch says.
  FB_RETURN_NOT_OK(FromArrow(batch.ValidateFull()));
  const auto& array = static_cast<const arrow::UInt64Array&>(*batch.column(0));
  return std::span(array.raw_values(), static_cast<size_t>(array.length()));
}

}  // namespace

Status ExchangeRows(const RowsRequest& request, Tables& tables,
                    arrow::flight::FlightMessageReader& in,
                    arrow::flight::FlightMessageWriter& out) {
  FB_ASSIGN_OR_RETURN(Tables::Lease table, tables.Take(request.table));
  const model::Schema& schema = table->manifest()->schema();
  FB_ASSIGN_OR_RETURN(auto choice, reader::ColumnChoice::Make(schema, request.columns));
  auto fields = choice.Fields(schema);
  FB_ASSIGN_OR_RETURN(auto arrow_schema, ArrowSchemaOf(schema, fields));
  FB_ASSIGN_OR_RETURN(auto gather, RowGather::Make(table, tables.pool(), choice));
  FB_RETURN_NOT_OK(FromArrow(out.Begin(arrow_schema)));
  for (;;) {
    FB_ASSIGN_OR_RETURN(auto message, FromArrow(in.Next()));
    if (message.data == nullptr && message.app_metadata == nullptr) break;
    if (message.data == nullptr) continue;
    FB_ASSIGN_OR_RETURN(auto rows, RowsOf(*message.data));
    FB_RETURN_NOT_OK(CheckBatchBytes(fields, rows.size()));
    FB_ASSIGN_OR_RETURN(reader::Batch batch, gather->Take(rows));
    FB_ASSIGN_OR_RETURN(auto answer, ToRecordBatch(std::move(batch), arrow_schema));
    FB_RETURN_NOT_OK(FromArrow(out.WriteRecordBatch(*answer)));
  }
  return FromArrow(out.Close());
}

}  // namespace forebay::flight
