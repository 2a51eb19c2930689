// Gets chunks and rows from other nodes. Connections are made when they are first needed,
// kept, and made again after a peer was gone. Thread-safe; several calls to one peer run
// beside each other.
//
// What a caller can act on: kUnavailable (nobody answers there, or it broke off: try the
// next owner), kNotFound (it does not have it), kPermission (it will not), kDeadline
// (time was up), kCancelled (the caller gave up), kCorrupt (what came is not what was
// asked for).
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "flight/peer_request.h"

namespace forebay::flight {

struct CallOptions {
  Deadline deadline = Deadline::Never();
  std::stop_token stop{};  // ends the call soon
};

// Takes chunks as they arrive: Begin, Append until `size` bytes have come, End; then the
// next. An error ends the call and is its result. Called by the thread that fetches.
class ChunkSink {
 public:
  struct Chunk {
    uint32_t index = 0;  // in the request's refs; they come in order
    uint64_t size = 0;
    Hash128 key{};
    Hash128 checksum{};  // to be compared with what came
  };
  virtual ~ChunkSink() = default;
  virtual Status Begin(const Chunk& chunk) = 0;
  // The bytes are gone after the call.
  virtual Status Append(const void* data, size_t size) = 0;
  virtual Status End() = 0;
  // The peer gave a sign of life: it is at it, or sends. A peer that is well gives one
  // many times a second.
  virtual void Heard() {}
  // The peer's own word that it does not give them: it is there.
  virtual void Refused() {}
  // From here on it gives none between chunks, however well it is.
  virtual void WillBeSilent() {}
};

// Rows by number, pipelined: Ask many times, and Next as often. One thread may ask while
// another takes.
class RowStream {
 public:
  ~RowStream();  // ends the call
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  // At most 2^20 rows at a time.
  Status Ask(std::span<const uint64_t> rows);
  // Nothing more will be asked for.
  Status Finish();
  // The rows of the next question; null after the last one.
  Result<std::shared_ptr<arrow::RecordBatch>> Next();
  // The same where they come as chunks (RowsRequest::as_chunk), with a checksum.
  Status TakeChunk(ChunkSink& sink);

 private:
  friend class PeerClient;
  struct Call;
  explicit RowStream(std::unique_ptr<Call> call);
  std::unique_ptr<Call> call_;
};

class PeerClient {
 public:
  struct Options {
    uint32_t connections = 2;  // of gRPC to one peer, used in turn
    bool bulk = true;          // chunks come over the bulk channel where the peer has one
  };
  PeerClient();
  explicit PeerClient(Options options);
  ~PeerClient();

  // `address` is host:port. Returns when every chunk has come, or why not.
  Status FetchChunks(const std::string& address, const ChunkRequest& request,
                     ChunkSink& sink, const CallOptions& options);
  // Rows by number, in this order, as one chunk: Arrow IPC file bytes (index and key are
  // 0, the checksum is HashBytes). At most 2^20 rows.
  Status FetchRows(const std::string& address, const RowsRequest& request,
                   std::span<const uint64_t> rows, ChunkSink& sink,
                   const CallOptions& options);
  Result<std::unique_ptr<RowStream>> GatherRows(const std::string& address,
                                                const RowsRequest& request,
                                                const CallOptions& options);
  // Closes what is open to all other peers: they have left. Calls under way go on; what
  // they leave open is closed by the next KeepOnly.
  void KeepOnly(const std::set<std::string>& addresses);

 private:
  class Connections;
  // Over the bulk channel; nullopt where there is none.
  std::optional<Status> FetchByBulk(const std::string& address,
                                    const BulkRequest& request, ChunkSink& sink,
                                    const CallOptions& options);
  Status FetchByFlight(const std::string& address, const ChunkRequest& request,
                       ChunkSink& sink, const CallOptions& options);
  // The port of the peer's bulk channel; 0 where it has none.
  Result<int> AskBulkPort(const std::string& address, const CallOptions& options);

  std::unique_ptr<Connections> connections_;
};

}  // namespace forebay::flight
