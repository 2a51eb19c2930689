#include "flight/row_exchange.h"

#include <arrow/api.h>

#include "base/arrow_status.h"
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

}  // namespace

Status ExchangeRows(const RowsRequest& request, Tables& tables,
                    arrow::flight::FlightMessageReader& in,
                    arrow::flight::FlightMessageWriter& out) {
  FB_ASSIGN_OR_RETURN(auto served, ServedRows::Make(request, tables));
  FB_RETURN_NOT_OK(FromArrow(out.Begin(served->schema())));
  for (;;) {
    FB_ASSIGN_OR_RETURN(auto message, FromArrow(in.Next()));
    if (message.data == nullptr && message.app_metadata == nullptr) break;
    if (message.data == nullptr) continue;
    FB_ASSIGN_OR_RETURN(auto rows, RowsOf(*message.data));
    FB_ASSIGN_OR_RETURN(auto answer, served->Take(rows));
    FB_RETURN_NOT_OK(FromArrow(out.WriteRecordBatch(*answer)));
  }
  return FromArrow(out.Close());
}

}  // namespace forebay::flight
