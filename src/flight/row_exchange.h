// DoExchange: row numbers in, those rows out, in the same order: as batches, or as chunks
// with their checksums where peers ask.
#pragma once

#include <arrow/flight/server.h>

#include <functional>
#include <memory>

#include "flight/peer_request.h"
#include "flight/tables.h"

namespace forebay::flight {

// Serves until the client has sent its last row numbers, or has gone.
Status ExchangeRows(const RowsRequest& request, Tables& tables,
                    arrow::flight::FlightMessageReader& in,
                    arrow::flight::FlightMessageWriter& out);

}  // namespace forebay::flight
