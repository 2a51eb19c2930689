// Answers about a flight whose table's manifest is at hand: no node is asked, so that a
// server without one can tell clients where to read.
#pragma once

#include <arrow/flight/types.h>

#include <memory>

#include "base/status.h"
#include "flight/service.h"

namespace forebay::flight {

// total_bytes is -1 where a column's rows differ in size.
Result<arrow::flight::FlightInfo> InfoOfKnown(
    const arrow::flight::FlightDescriptor& descriptor, const PathFlight& flight);
Result<std::shared_ptr<arrow::Schema>> SchemaOfKnown(const PathFlight& flight);

}  // namespace forebay::flight
