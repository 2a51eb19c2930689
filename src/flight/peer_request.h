// What nodes ask each other for: chunks as they are stored, and rows by their numbers
// (docs/formats/flight-ticket.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flight/batch_command.h"
#include "model/chunk.h"

namespace forebay::flight {

constexpr size_t kChunkTicketBytesMax = 256 * 1024;

// A ticket of DoGet: these chunks of a view of a version, in this order.
struct ChunkRequest {
  TableName table{};  // with its version
  model::Projection columns{};
  std::vector<model::ChunkRef> refs{};
  // Only what is in the store: the rest is kNotFound instead of being filled.
  bool stored_only = false;

  std::string ToJson() const;
  friend bool operator==(const ChunkRequest&, const ChunkRequest&) = default;
};

// The descriptor of DoExchange: rows of these columns of a version. The rows themselves
// follow as batches of one uint64 column.
struct RowsRequest {
  TableName table{};
  std::optional<std::vector<std::string>> columns{};  // nullopt: all
  // The answer is a chunk with its checksum, for peers, instead of a batch.
  bool as_chunk = false;

  std::string ToJson() const;
  friend bool operator==(const RowsRequest&, const RowsRequest&) = default;
};

Result<RowsRequest> ParseRowsRequest(std::string_view text);
// Of a question for rows: the descriptor's bytes, then the row numbers.
Hash128 RowsChecksum(std::string_view descriptor, std::span<const uint64_t> rows);

// What is asked for over the bulk channel, as it is sent.
struct BulkRequest {
  std::string bytes;
  size_t count = 0;  // of the chunks that answer it

  static BulkRequest Of(const ChunkRequest& request);
  // One chunk of all these rows.
  static BulkRequest Of(const RowsRequest& request, std::span<const uint64_t> rows);
};

using Ticket = std::variant<BatchCommand, ChunkRequest>;
Result<Ticket> ParseTicket(std::string_view text);

}  // namespace forebay::flight
