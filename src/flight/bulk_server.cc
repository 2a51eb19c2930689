#include "flight/bulk_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mapping.h"
#include "base/start_thread.h"
#include "flight/call_scope.h"
#include "wire/authenticate.h"

namespace forebay::flight {
namespace {

constexpr milliseconds kTick = milliseconds(200);
// Until a new connection's first request, and until the next one.
constexpr milliseconds kFirstTime = std::chrono::seconds(10);
constexpr milliseconds kIdleTime = std::chrono::minutes(10);
constexpr milliseconds kRowsKeptTime = std::chrono::seconds(2);
constexpr milliseconds kWorkingInterval = milliseconds(30);
// A peer that sends or takes less is stopped in the end.
constexpr uint64_t kBytesPerMsMin = 256;

Status SendFailure(BulkSocket& socket, const Status& status,
                   const BulkSocket::Patience& patience) {
  Encoder body;
  body.Put(static_cast<uint32_t>(status.code()));
  std::string bytes = body.Take() + status.message();
  BulkHeader header{.kind = BulkHeader::Kind::kFailure,
                    .size = bytes.size(),
                    .checksum = HashBytes(bytes)};
  return socket.Send(header.Encode() + bytes, patience);
}

Status Discard(BulkSocket& socket, uint64_t size, const BulkSocket::Patience& patience) {
  char bytes[16 * kKiB];
  while (size > 0) {
    size_t part = std::min<uint64_t>(size, sizeof(bytes));
    FB_RETURN_NOT_OK(socket.Receive(bytes, part, patience));
    size -= part;
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<BulkServer>> BulkServer::Start(Options options) {
  FB_ASSIGN_OR_RETURN(BulkListener listener, BulkListener::Listen(options.host));
  auto server = std::unique_ptr<BulkServer>(
      new BulkServer(std::move(options), std::move(listener)));
  FB_ASSIGN_OR_RETURN(server->acceptor_,
                      StartThread([raw = server.get()] { raw->Accept(); }));
  return server;
}

BulkServer::~BulkServer() {
  stopping_ = true;
  if (acceptor_.joinable()) acceptor_.join();
  Reap(/*all=*/true);
}

void BulkServer::Accept() {
  while (!stopping_) {
    pollfd poll{.fd = listener_.fd.get(), .events = POLLIN, .revents = 0};
    ::poll(&poll, 1, static_cast<int>(kTick.count()));
    Reap(/*all=*/false);
    UniqueFd fd(
        ::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid() && connections_.size() < options_.connections_max) {
      Admit(std::move(fd));
    } else if (!fd.valid() && poll.revents != 0) {
      // Whoever could not be accepted (no descriptor is left) stays in the backlog, and
      // the listener readable: without a pause this would spin.
      std::this_thread::sleep_for(kTick);
    }
  }
}

void BulkServer::Admit(UniqueFd fd) {
  Connection& connection = connections_.emplace_back();
  auto socket = std::make_shared<BulkSocket>(std::move(fd));
  auto thread = StartThread([this, &connection, socket] {
    Serve(std::move(*socket));
    connection.ended = true;
  });
  if (thread.ok()) {
    connection.thread = *std::move(thread);
    return;
  }
  // The peer asks another node.
  (void)SendFailure(*socket, thread.status(), Patience(milliseconds(0)));
  connections_.pop_back();
  spdlog::warn("bulk: a peer was turned away: {}", thread.status().message());
}

void BulkServer::Reap(bool all) {
  connections_.remove_if([all](Connection& connection) {
    if (!all && !connection.ended) return false;
    connection.thread.join();
    return true;
  });
}

BulkSocket::Patience BulkServer::Patience(milliseconds time) const {
  return {.deadline = Deadline::After(time),
          .ended = [this] { return stopping_.load(); }};
}

BulkSocket::Patience BulkServer::PatienceFor(uint64_t bytes) const {
  return Patience(options_.stall_time + milliseconds(bytes / kBytesPerMsMin));
}

void BulkServer::Serve(BulkSocket socket) {
  Peer peer{.socket = std::move(socket)};
  Status status = ServeOne(peer, kFirstTime);
  while (status.ok()) status = ServeOne(peer, kIdleTime);
  bool usual = status.code() == StatusCode::kUnavailable ||
               status.code() == StatusCode::kCancelled ||
               status.code() == StatusCode::kDeadline;
  if (!usual) spdlog::warn("bulk: a peer was turned away: {}", status.ToString());
}

// One request and its answer; an error ends the connection.
Status BulkServer::ServeOne(Peer& peer, milliseconds idle_time) {
  Request request;
  FB_ASSIGN_OR_RETURN(request.header, ReceiveHeader(peer, idle_time));
  Status refusal;
  FB_RETURN_NOT_OK(ReceiveBody(request, peer, &refusal));
  if (refusal.ok()) FB_RETURN_NOT_OK(Answer(request, peer, &refusal));
  if (refusal.ok()) return refusal;
  return SendFailure(peer.socket, refusal, Patience(options_.stall_time));
}

Result<BulkHeader> BulkServer::ReceiveHeader(Peer& peer, milliseconds idle_time) {
  std::string bytes(BulkHeader::kBytes, '\0');
  auto waiting = Patience(idle_time);
  // A peer that asks no more must not keep chunks mapped.
  waiting.ended = [&, until = Deadline::After(kRowsKeptTime)] {
    if (until.passed()) peer.rows.reset();
    return stopping_.load();
  };
  FB_RETURN_NOT_OK(peer.socket.Receive(bytes.data(), bytes.size(), waiting));
  FB_ASSIGN_OR_RETURN(BulkHeader header, BulkHeader::Decode(bytes));
  bool chunks = header.kind == BulkHeader::Kind::kRequest;
  bool rows = header.kind == BulkHeader::Kind::kRows;
  uint64_t size_max = kChunkTicketBytesMax + (rows ? 8 * kExchangeRowsMax : 0);
  if ((chunks || rows) && header.size <= size_max) return header;
  return Status::Invalid("a request over the bulk channel is malformed");
}

Status BulkServer::ReceiveBody(Request& request, Peer& peer, Status* refusal) {
  const uint64_t size = request.header.size;
  auto patience = PatienceFor(size);
  if (size > kChunkTicketBytesMax) {
    auto memory = request_memory_.Reserve(
        {.bytes = 2 * size, .deadline = Deadline::After(options_.request_wait)});
    if (!memory.ok()) {
      *refusal = Status::Unavailable(
          "the node holds as many large requests for rows as it may: ask another node, "
          "or try again");
      return Discard(peer.socket, size, patience);
    }
    request.memory = *std::move(memory);
  }
  request.body.resize(size);
  FB_RETURN_NOT_OK(peer.socket.Receive(request.body.data(), size, patience));
  // The answer to a damaged question would be intact, but to another question.
  *refusal = request.header.CheckBody(request.body);
  return Status::OK();
}

Status BulkServer::Answer(Request& request, Peer& peer, Status* refusal) {
  *refusal = wire::Authenticate({.method = "Bulk", .peer = {}, .credentials = {}});
  if (!refusal->ok()) return Status::OK();
  peer.said = Clock::Real().Now();
  if (request.header.kind == BulkHeader::Kind::kRequest) {
    return AnswerChunks(request.body, peer, refusal);
  }
  size_t descriptor = request.header.index;
  size_t size = request.body.size();
  bool right = descriptor <= size && (size - descriptor) % 8 == 0;
  if (!right || options_.tables == nullptr) {
    *refusal = Status::Invalid("a request for rows makes no sense here");
    return Status::OK();
  }
  return AnswerRows(request, peer, refusal);
}

bool BulkServer::SayWorking(Peer& peer) {
  if (peer.gone || stopping_) return true;
  // Whoever asks says nothing more: input means that it has closed.
  peer.gone = peer.socket.HasInput();
  if (peer.gone || Clock::Real().Now() - peer.said < kWorkingInterval) return peer.gone;
  peer.said = Clock::Real().Now();
  BulkHeader working{.kind = BulkHeader::Kind::kWorking};
  peer.gone = !peer.socket.Send(working.Encode(), Patience(options_.stall_time)).ok();
  return peer.gone;
}

Status BulkServer::AnswerChunks(const std::string& text, Peer& peer, Status* refusal) {
  auto ticket = ParseTicket(text);
  *refusal = ticket.status();
  if (!refusal->ok()) return Status::OK();
  auto* request = std::get_if<ChunkRequest>(&*ticket);
  if (request == nullptr) {
    *refusal = Status::Invalid("the bulk channel gives chunks and rows, nothing else");
    return Status::OK();
  }
  auto chunks = options_.chunks->Serve(*request);
  *refusal = chunks.status();
  if (!refusal->ok()) return Status::OK();
  auto ended = [&] { return SayWorking(peer); };
  for (size_t i = 0; i < request->refs.size(); ++i) {
    auto chunk = (*chunks)->At(i, ended);
    *refusal = chunk.status();
    if (!refusal->ok()) return Status::OK();
    FB_RETURN_NOT_OK(SendChunk(static_cast<uint32_t>(i), *chunk, peer.socket));
  }
  BulkHeader end{.kind = BulkHeader::Kind::kEnd};
  return peer.socket.Send(end.Encode(), Patience(options_.stall_time));
}

Status BulkServer::AnswerRows(Request& request, Peer& peer, Status* refusal) {
  std::function<bool()> ended = [&] { return SayWorking(peer); };
  CallScope scope(&ended);
  auto chunk = [&]() -> Result<RowChunk> {
    std::string_view body = request.body;
    std::string_view descriptor = body.substr(0, request.header.index);
    std::string_view rows = body.substr(request.header.index);
    if (peer.rows == nullptr || peer.descriptor != descriptor) {
      FB_ASSIGN_OR_RETURN(auto request, ParseRowsRequest(descriptor));
      FB_ASSIGN_OR_RETURN(peer.rows, ServedRows::Make(request, *options_.tables));
      peer.descriptor = descriptor;
    }
    std::vector<uint64_t> numbers(rows.size() / 8);
    std::memcpy(numbers.data(), rows.data(), rows.size());
    FB_ASSIGN_OR_RETURN(auto batch, peer.rows->Take(numbers));
    return RowChunk::Make(std::move(batch));
  }();
  request = {};
  *refusal = chunk.status();
  if (!refusal->ok()) {
    peer.rows.reset();
    return Status::OK();
  }
  auto patience = PatienceFor(chunk->size());
  BulkHeader header{.kind = BulkHeader::Kind::kChunk,
                    .size = chunk->size(),
                    .checksum = chunk->checksum()};
  FB_RETURN_NOT_OK(peer.socket.Send(header.Encode(), patience));
  FB_RETURN_NOT_OK(chunk->Write([&](const void* data, size_t size) {
    return peer.socket.Send({static_cast<const char*>(data), size}, patience);
  }));
  BulkHeader end{.kind = BulkHeader::Kind::kEnd};
  return peer.socket.Send(end.Encode(), patience);
}

Status BulkServer::SendChunk(uint32_t index, const ServedChunk& chunk,
                             BulkSocket& socket) {
  BulkHeader header{.kind = BulkHeader::Kind::kChunk,
                    .size = chunk.size,
                    .index = index,
                    .key = chunk.key,
                    .checksum = chunk.checksum};
  // Sent from a mapping: what sendfile hands over page by page costs the receiver more
  // than the copy that it saves here.
  FB_ASSIGN_OR_RETURN(auto mapping,
                      Mapping::Map(chunk.fd->get(), chunk.size, Mapping::Mode::kShared));
  auto patience = PatienceFor(chunk.size);
  FB_RETURN_NOT_OK(socket.Send(header.Encode(), patience));
  return socket.Send(mapping->bytes(), patience);
}

}  // namespace forebay::flight
