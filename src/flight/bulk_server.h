// Serves chunks and rows over the bulk channel: a thread that accepts, and one for each
// connection.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/memory_budget.h"
#include "base/size.h"
#include "flight/bulk_socket.h"
#include "flight/chunk_provider.h"
#include "flight/served_rows.h"

namespace forebay::flight {

class BulkServer {
 public:
  struct Options {
    std::string host;
    ChunkProvider* chunks = nullptr;
    std::shared_ptr<Tables> tables{};  // where rows come from
    uint32_t connections_max = 256;    // more are closed at once
    // For requests of more than kChunkTicketBytesMax, which are row numbers. One that
    // finds no room within request_wait is refused.
    uint64_t request_memory_bytes = 64 * kMiB;
    milliseconds request_wait = std::chrono::seconds(1);
    milliseconds stall_time = std::chrono::minutes(2);  // a peer that takes nothing
  };
  static Result<std::unique_ptr<BulkServer>> Start(Options options);
  ~BulkServer();

  int port() const { return listener_.port; }

 private:
  struct Connection {
    std::thread thread;
    std::atomic<bool> ended{false};
  };

  BulkServer(Options options, BulkListener listener)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        request_memory_(options_.request_memory_bytes) {}
  void Accept();
  void Admit(UniqueFd fd);
  // Joins the threads of connections that have ended; all of them at the end.
  void Reap(bool all);
  void Serve(BulkSocket socket);
  // What a connection has open for its next request.
  struct Peer {
    BulkSocket socket;
    std::string descriptor{};  // of `rows`
    std::unique_ptr<ServedRows> rows{};
    TimePoint said{};  // when it was last told that the server is at it
    bool gone = false;
  };
  struct Request {
    BulkHeader header{};
    std::string body{};
    MemoryBudget::Reservation memory{};  // of the body and the row numbers in it
  };
  Status ServeOne(Peer& peer, milliseconds idle_time);
  Result<BulkHeader> ReceiveHeader(Peer& peer, milliseconds idle_time);
  // What is wrong with it is in `refusal`, as in Answer.
  Status ReceiveBody(Request& request, Peer& peer, Status* refusal);
  // What is wrong with the request is in `refusal`; an error means that the connection is
  // of no more use.
  Status Answer(Request& request, Peer& peer, Status* refusal);
  Status AnswerChunks(const std::string& text, Peer& peer, Status* refusal);
  // Gives the request's memory back before it sends.
  Status AnswerRows(Request& request, Peer& peer, Status* refusal);
  // Tells the peer now and then that its answer is being made; true once it has gone.
  bool SayWorking(Peer& peer);
  Status SendChunk(uint32_t index, const ServedChunk& chunk, BulkSocket& socket);
  BulkSocket::Patience Patience(milliseconds time) const;
  // To send or receive so many.
  BulkSocket::Patience PatienceFor(uint64_t bytes) const;

  const Options options_;
  BulkListener listener_;
  MemoryBudget request_memory_;
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
  std::list<Connection> connections_;  // the acceptor's alone, until it has ended
};

}  // namespace forebay::flight
