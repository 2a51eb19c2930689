// What a command of batches means for a table: its columns, how many rows and bytes there
// are to come, and the batches themselves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flight/batch_command.h"
#include "flight/share_stream.h"
#include "reader/batches/prefetch.h"
#include "reader/request/column_choice.h"

namespace forebay::flight {

// Gives the batches of a flight, in order; used by one thread.
class FlightBatches {
 public:
  virtual ~FlightBatches() = default;
  // nullopt after the last; columns in the order asked for. `ended` is looked at several
  // times a second while it waits.
  virtual Result<std::optional<reader::Batch>> Next(
      const std::function<bool()>& ended) = 0;
};

class PlannedFlight {
 public:
  // kInvalid for columns that are not there and batches that would not fit in memory.
  static Result<PlannedFlight> Make(const BatchCommand& command,
                                    std::shared_ptr<reader::RemoteTable> table);

  // In the order asked for; kept alive by the manifest.
  const std::vector<const model::Field*>& fields() const { return fields_; }
  const std::shared_ptr<reader::RemoteTable>& table() const { return table_; }
  const reader::ColumnChoice& choice() const { return choice_; }
  uint64_t record_count() const { return record_count_; }
  // As docs/formats/flight-ticket.md counts them; nullopt where nobody knows. May ask the
  // node.
  Result<std::optional<uint64_t>> ByteCount() const;

  Result<std::unique_ptr<FlightBatches>> Batches(
      const std::shared_ptr<reader::BufferPool>& pool) const;

 private:
  PlannedFlight(const BatchCommand& command, std::shared_ptr<reader::RemoteTable> table)
      : command_(command), table_(std::move(table)) {}
  Status Plan();
  bool cuts_shares() const;
  bool padded() const { return options_.shards.remainder == plan::Remainder::kPad; }
  std::vector<Share> shares() const;

  BatchCommand command_;
  std::shared_ptr<reader::RemoteTable> table_;
  reader::ColumnChoice choice_;
  std::vector<const model::Field*> fields_;
  reader::BatchOptions options_;  // where batches have a size
  uint64_t batch_bytes_ = 0;      // of a batch with a size, at least
  uint64_t record_count_ = 0;
};

// kInvalid when so many rows of these columns cannot be one batch.
Status CheckBatchBytes(const std::vector<const model::Field*>& fields, uint64_t rows);

}  // namespace forebay::flight
