// Which batches a Flight client wants: the JSON command of GetFlightInfo, and the ticket
// of DoGet (docs/formats/flight-ticket.md). Its members mean what the arguments of the
// Python API mean, and give the same batches.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "plan/order.h"
#include "plan/sharding.h"

namespace forebay::flight {

// Which table, and in which state.
struct TableName {
  std::string dataset{};  // a name that the server knows; or
  std::string uri{};      // a place, as forebay.open takes it; exactly one of the two
  // Of the source and of the table ("s3.endpoint", "forebay.filter", …).
  std::map<std::string, std::string> options{};
  // This version and no other. In tickets, so that what was promised is what comes.
  std::optional<Hash128> version{};

  friend bool operator==(const TableName&, const TableName&) = default;
};

// Consecutive rows of a table.
struct RowInterval {
  uint64_t first = 0;
  uint64_t count = 0;

  uint64_t end() const { return first + count; }
  friend bool operator==(const RowInterval&, const RowInterval&) = default;
};

struct BatchCommand {
  TableName table{};
  std::optional<std::vector<std::string>> columns{};  // nullopt: all
  plan::OrderMode order = plan::OrderMode::kSequential;
  uint64_t window = plan::kWindowRangesDefault;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t rank = 0;
  uint64_t world_size = 1;
  uint64_t worker = 0;
  uint64_t worker_count = 1;
  uint64_t batch_size = 0;         // per rank; or
  uint64_t global_batch_size = 0;  // of all ranks; neither: the server cuts (README)
  uint64_t start_step = 0;
  uint64_t start_position = 0;
  // These rows instead of a share, in table order; only where the server cuts.
  std::optional<std::vector<RowInterval>> intervals{};
  std::optional<plan::Remainder> remainder{};  // drop; keep where the server cuts

  bool server_cuts() const { return batch_size == 0 && global_batch_size == 0; }
  std::string ToJson() const;

  friend bool operator==(const BatchCommand&, const BatchCommand&) = default;
};

constexpr uint64_t kTicketFormatVersion = 1;
constexpr size_t kCommandBytesMax = 64 * 1024;
constexpr size_t kIntervalsMax = 1024;  // fits into a command, however large the rows

// kInvalid with a sentence that names the member; kUnsupported for a later format.
Result<BatchCommand> ParseBatchCommand(std::string_view text);
// The same of an object that was parsed before.
Result<BatchCommand> ReadBatchCommand(const nlohmann::json& object);

class JsonFields;
// The members of a table's name, of any object that has them.
void ReadTableName(JsonFields& fields, TableName* out);
void WriteTableName(const TableName& table, nlohmann::json* out);
// Reads "forebay"; kUnsupported for a format that is not ours.
Status CheckTicketFormat(JsonFields& fields);

}  // namespace forebay::flight
