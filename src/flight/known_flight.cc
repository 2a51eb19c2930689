#include "flight/known_flight.h"

#include <arrow/type.h>

#include <optional>

#include "base/arrow_status.h"
#include "flight/arrow_batches.h"
#include "flight/row_bytes.h"
#include "reader/request/column_choice.h"

namespace forebay::flight {
namespace {

namespace af = arrow::flight;

// All endpoints of a flight have the same columns.
Result<std::vector<const model::Field*>> FieldsOf(const PathFlight& flight) {
  std::optional<std::vector<std::string>> names;
  if (!flight.endpoints.empty()) names = flight.endpoints[0].command.columns;
  FB_ASSIGN_OR_RETURN(auto choice,
                      reader::ColumnChoice::Make(flight.manifest->schema(), names));
  return choice.Fields(flight.manifest->schema());
}

uint64_t RowsOf(const BatchCommand& command) {
  uint64_t rows = 0;
  if (!command.intervals) return rows;
  for (const RowInterval& interval : *command.intervals) rows += interval.count;
  return rows;
}

// In the order of the table, when read one after the other.
bool IsOrdered(const PathFlight& flight) {
  uint64_t end = 0;
  for (const Endpoint& endpoint : flight.endpoints) {
    if (!endpoint.command.intervals || endpoint.command.intervals->empty()) continue;
    if (endpoint.command.intervals->front().first < end) return false;
    end = endpoint.command.intervals->back().end();
  }
  return true;
}

int64_t BytesOf(const std::vector<const model::Field*>& fields, uint64_t rows) {
  uint64_t bytes = 0;
  for (const model::Field* field : fields) {
    auto bits = FixedRowBits(*field);
    if (!bits && rows > 0) return -1;
    if (bits) bytes += (*bits * rows + 7) / 8;
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace

Result<std::shared_ptr<arrow::Schema>> SchemaOfKnown(const PathFlight& flight) {
  FB_ASSIGN_OR_RETURN(auto fields, FieldsOf(flight));
  return ArrowSchemaOf(flight.manifest->schema(), fields);
}

Result<af::FlightInfo> InfoOfKnown(const af::FlightDescriptor& descriptor,
                                   const PathFlight& flight) {
  FB_ASSIGN_OR_RETURN(auto fields, FieldsOf(flight));
  FB_ASSIGN_OR_RETURN(auto schema, ArrowSchemaOf(flight.manifest->schema(), fields));
  std::vector<af::FlightEndpoint> endpoints;
  uint64_t rows = 0;
  for (const Endpoint& endpoint : flight.endpoints) {
    af::FlightEndpoint part;
    BatchCommand command = endpoint.command;
    command.table.version = flight.manifest->version();
    part.ticket.ticket = command.ToJson();
    rows += RowsOf(command);
    if (!endpoint.location.empty()) {
      FB_ASSIGN_OR_RETURN(auto location,
                          FromArrow(af::Location::Parse(endpoint.location)));
      part.locations.push_back(std::move(location));
    }
    endpoints.push_back(std::move(part));
  }
  return FromArrow(af::FlightInfo::Make(*schema, descriptor, endpoints,
                                        static_cast<int64_t>(rows), BytesOf(fields, rows),
                                        IsOrdered(flight)));
}

}  // namespace forebay::flight
