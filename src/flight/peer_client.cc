#include "flight/peer_client.h"

#include <arrow/api.h>
#include <arrow/flight/client.h>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/address.h"
#include "base/arrow_status.h"
#include "flight/bulk_client.h"
#include "flight/chunk_stream.h"
#include "flight/flight_status.h"

namespace forebay::flight {
namespace {

namespace af = arrow::flight;

// A peer that is back must be found soon; gRPC's own pauses grow to two minutes.
constexpr int kReconnectMs = 200;
constexpr int kReconnectMsMax = 1000;
constexpr int kUnknownPort = -1;
constexpr milliseconds kAskTime = std::chrono::seconds(1);
// How long a peer without a bulk channel, or one that cannot be reached, is not asked
// again.
constexpr milliseconds kNoBulkTime = std::chrono::minutes(1);

af::FlightClientOptions ClientOptions() {
  auto options = af::FlightClientOptions::Defaults();
  options.generic_options = {
      {"grpc.initial_reconnect_backoff_ms", kReconnectMs},
      {"grpc.min_reconnect_backoff_ms", kReconnectMsMax},
      {"grpc.max_reconnect_backoff_ms", kReconnectMsMax},
      // A connection of its own for each client, instead of one that all share.
      {"grpc.use_local_subchannel_pool", 1},
  };
  return options;
}

af::FlightCallOptions FlightOptions(const CallOptions& options) {
  af::FlightCallOptions out;
  if (options.deadline.when() != TimePoint::max()) {
    out.timeout = std::chrono::duration<double>(options.deadline.Remaining());
  }
  return out;
}

// What came of one request so far, checked against what was asked for.
class ChunkReceiver {
 public:
  ChunkReceiver(size_t count, ChunkSink* sink) : count_(count), sink_(sink) {}

  Status Take(const af::FlightStreamChunk& message) {
    if (message.app_metadata != nullptr) FB_RETURN_NOT_OK(Begin(*message.app_metadata));
    if (message.data == nullptr) return Status::OK();
    bool fits = open_ && message.data->num_columns() == 1 &&
                message.data->column(0)->type_id() == arrow::Type::UINT8;
    if (!fits) return Wrong();
    const auto& bytes = static_cast<const arrow::UInt8Array&>(*message.data->column(0));
    auto size = static_cast<uint64_t>(bytes.length());
    bool backed = bytes.values() != nullptr &&
                  bytes.values()->size() >= bytes.length() + bytes.offset();
    if (size > left_ || (size > 0 && !backed)) return Wrong();
    if (size > 0) FB_RETURN_NOT_OK(sink_->Append(bytes.raw_values(), size));
    left_ -= size;
    if (left_ > 0) return Status::OK();
    open_ = false;
    return sink_->End();
  }

  Status Finish() const {
    if (!open_ && next_ == count_) return Status::OK();
    return Status::Unavailable(
        fmt::format("a peer broke off after {} of {} chunks", next_, count_));
  }

 private:
  Status Begin(const arrow::Buffer& metadata) {
    FB_ASSIGN_OR_RETURN(ChunkHeader header,
                        ChunkHeader::Decode(static_cast<std::string_view>(metadata)));
    if (open_ || header.index != next_ || next_ >= count_) return Wrong();
    ++next_;
    open_ = true;
    left_ = header.size;
    return sink_->Begin({.index = header.index,
                         .size = header.size,
                         .key = header.key,
                         .checksum = header.checksum});
  }
  static Status Wrong() {
    return Status::Corrupt("a peer sent other chunks than it was asked for");
  }

  const size_t count_;
  ChunkSink* sink_;
  uint32_t next_ = 0;
  bool open_ = false;
  uint64_t left_ = 0;
};

// gRPC says «cancelled» also where the other end went away; only our own word counts.
Status Outcome(Status status, const CallOptions& options) {
  if (options.stop.stop_requested()) return Status::Cancelled("the call was given up");
  if (status.code() == StatusCode::kCancelled) {
    return Status::Unavailable(status.message());
  }
  return status;
}

}  // namespace

class PeerClient::Connections {
 public:
  explicit Connections(Options options) : options_(options) {}

  Result<std::shared_ptr<af::FlightClient>> Get(const std::string& address) {
    std::lock_guard lock(mutex_);
    Peer& peer = peers_[address];
    peer.clients.resize(std::max<uint32_t>(options_.connections, 1));
    auto& client = peer.clients[peer.next++ % peer.clients.size()];
    if (client != nullptr) return client;
    FB_ASSIGN_OR_RETURN(Address at, ParseAddress(address));
    FB_ASSIGN_OR_RETURN(auto location,
                        FromArrow(af::Location::ForGrpcTcp(at.host, at.port)));
    FB_ASSIGN_OR_RETURN(auto connected,
                        FromArrow(af::FlightClient::Connect(location, ClientOptions())));
    client = std::move(connected);
    return client;
  }

  // The port of the peer's bulk channel, 0 for none, or kUnknownPort.
  int BulkPort(const std::string& address) {
    std::lock_guard lock(mutex_);
    if (!options_.bulk) return 0;
    const Peer& peer = peers_[address];
    return Clock::Real().Now() < peer.bulk_until ? peer.bulk_port : kUnknownPort;
  }
  void SetBulkPort(const std::string& address, int port) {
    std::lock_guard lock(mutex_);
    Peer& peer = peers_[address];
    // A peer that came back listens elsewhere: nobody would ever look at what is open to
    // the old port.
    if (peer.bulk_port != port) ForgetBulk(address, peer);
    peer.bulk_port = port;
    peer.bulk_until = port != 0 ? TimePoint::max() : Clock::Real().Now() + kNoBulkTime;
  }
  BulkClient& bulk() { return bulk_; }

  void KeepOnly(const std::set<std::string>& addresses) {
    std::vector<Peer> gone;  // closed outside the lock
    std::lock_guard lock(mutex_);
    std::set<BulkClient::Place> places;
    for (auto peer = peers_.begin(); peer != peers_.end();) {
      auto at = ParseAddress(peer->first);
      if (addresses.contains(peer->first)) {
        if (at.ok()) places.insert({at->host, peer->second.bulk_port});
        ++peer;
        continue;
      }
      gone.push_back(std::move(peer->second));
      peer = peers_.erase(peer);
    }
    bulk_.KeepOnly(places);
  }

 private:
  struct Peer {
    std::vector<std::shared_ptr<af::FlightClient>> clients;
    size_t next = 0;
    int bulk_port = kUnknownPort;
    TimePoint bulk_until{};
  };
  void ForgetBulk(const std::string& address, const Peer& peer) {
    auto at = ParseAddress(address);
    if (at.ok() && peer.bulk_port > 0) bulk_.Forget({at->host, peer.bulk_port});
  }

  BulkClient bulk_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::string, Peer> peers_;
};

PeerClient::PeerClient() : PeerClient(Options{}) {}
PeerClient::PeerClient(Options options)
    : connections_(std::make_unique<Connections>(options)) {}
PeerClient::~PeerClient() = default;

void PeerClient::KeepOnly(const std::set<std::string>& addresses) {
  connections_->KeepOnly(addresses);
}

Result<int> PeerClient::AskBulkPort(const std::string& address,
                                    const CallOptions& options) {
  FB_ASSIGN_OR_RETURN(auto client, connections_->Get(address));
  // One that does not answer this soon is not worth waiting for.
  CallOptions brief = options;
  brief.deadline = Deadline::After(std::min(kAskTime, options.deadline.Remaining()));
  auto results = client->DoAction(FlightOptions(brief), {"bulk", nullptr});
  if (!results.ok()) return Outcome(FromFlight(results.status()), options);
  auto result = (*results)->Next();
  if (!result.ok()) {
    Status status = Outcome(FromFlight(result.status()), options);
    if (status.code() == StatusCode::kUnsupported) return 0;
    return status;
  }
  if (*result == nullptr || (*result)->body == nullptr) return 0;
  return BulkPortIn((*result)->body->ToString());
}

std::optional<Status> PeerClient::FetchByBulk(const std::string& address,
                                              const BulkRequest& request, ChunkSink& sink,
                                              const CallOptions& options) {
  auto at = ParseAddress(address);
  if (!at.ok()) return at.status();
  int port = connections_->BulkPort(address);
  // A peer that came back listens elsewhere: it is asked once more.
  for (int attempt = 0; attempt < 2 && port != 0; ++attempt) {
    if (port == kUnknownPort) {
      auto asked = AskBulkPort(address, options);
      if (!asked.ok()) return asked.status();
      port = *asked;
      connections_->SetBulkPort(address, port);
      if (port == 0) break;
    }
    bool connected = false;
    Status status =
        connections_->bulk().Fetch({at->host, port}, request, sink, options, &connected);
    if (connected) return Outcome(std::move(status), options);
    connections_->SetBulkPort(address, kUnknownPort);
    port = kUnknownPort;
  }
  if (port != 0) connections_->SetBulkPort(address, 0);
  return std::nullopt;
}

Status PeerClient::FetchChunks(const std::string& address, const ChunkRequest& request,
                               ChunkSink& sink, const CallOptions& options) {
  auto status = FetchByBulk(address, BulkRequest::Of(request), sink, options);
  if (status) return *std::move(status);
  sink.WillBeSilent();
  return FetchByFlight(address, request, sink, options);
}

Status PeerClient::FetchRows(const std::string& address, const RowsRequest& request,
                             std::span<const uint64_t> rows, ChunkSink& sink,
                             const CallOptions& options) {
  auto status = FetchByBulk(address, BulkRequest::Of(request, rows), sink, options);
  if (status) return *std::move(status);
  sink.WillBeSilent();
  RowsRequest as_chunk = request;
  as_chunk.as_chunk = true;
  FB_ASSIGN_OR_RETURN(auto stream, GatherRows(address, as_chunk, options));
  FB_RETURN_NOT_OK(stream->Ask(rows));
  FB_RETURN_NOT_OK(stream->Finish());
  return stream->TakeChunk(sink);
}

Status PeerClient::FetchByFlight(const std::string& address, const ChunkRequest& request,
                                 ChunkSink& sink, const CallOptions& options) {
  FB_ASSIGN_OR_RETURN(auto client, connections_->Get(address));
  auto opened = client->DoGet(FlightOptions(options), {request.ToJson()});
  if (!opened.ok()) return Outcome(FromFlight(opened.status()), options);
  std::unique_ptr<af::FlightStreamReader> stream = std::move(opened).MoveValueUnsafe();
  std::stop_callback cancel(options.stop, [&] { stream->Cancel(); });
  ChunkReceiver receiver(request.refs.size(), &sink);
  for (;;) {
    auto message = stream->Next();
    if (!message.ok()) return Outcome(FromFlight(message.status()), options);
    if (message->data == nullptr && message->app_metadata == nullptr) break;
    Status taken = receiver.Take(*message);
    if (taken.ok()) continue;
    stream->Cancel();
    return taken;
  }
  return Outcome(receiver.Finish(), options);
}

struct RowStream::Call {
  std::shared_ptr<af::FlightClient> client;
  af::FlightClient::DoExchangeResult exchange;
  CallOptions options;
  std::shared_ptr<arrow::Schema> schema;
  std::string descriptor{};  // of rows as chunks; empty: they come as batches
  std::optional<std::stop_callback<std::function<void()>>> cancel;
  bool finished = false;
};

RowStream::RowStream(std::unique_ptr<Call> call) : call_(std::move(call)) {}

RowStream::~RowStream() {
  call_->cancel.reset();
  call_->exchange.reader->Cancel();
  arrow::Status ignored = call_->exchange.writer->Close();
}

Result<std::unique_ptr<RowStream>> PeerClient::GatherRows(const std::string& address,
                                                          const RowsRequest& request,
                                                          const CallOptions& options) {
  FB_ASSIGN_OR_RETURN(auto client, connections_->Get(address));
  std::string descriptor = request.ToJson();
  auto opened = client->DoExchange(FlightOptions(options),
                                   af::FlightDescriptor::Command(descriptor));
  if (!opened.ok()) return Outcome(FromFlight(opened.status()), options);
  auto call = std::make_unique<RowStream::Call>();
  call->client = std::move(client);
  call->exchange = std::move(opened).MoveValueUnsafe();
  call->options = options;
  if (request.as_chunk) call->descriptor = std::move(descriptor);
  call->schema = arrow::schema({arrow::field("row", arrow::uint64(), false)});
  auto begun = call->exchange.writer->Begin(call->schema);
  if (!begun.ok()) return Outcome(FromFlight(begun), options);
  call->cancel.emplace(options.stop, std::function<void()>([raw = call.get()] {
                         raw->exchange.reader->Cancel();
                       }));
  return std::unique_ptr<RowStream>(new RowStream(std::move(call)));
}

Status RowStream::Ask(std::span<const uint64_t> rows) {
  auto size = static_cast<int64_t>(rows.size());
  auto data = arrow::ArrayData::Make(
      arrow::uint64(), size,
      {nullptr, std::make_shared<arrow::Buffer>(
                    reinterpret_cast<const uint8_t*>(rows.data()), size * 8)},
      0);
  auto batch = arrow::RecordBatch::Make(call_->schema, size, {std::move(data)});
  // gRPC may keep the slices until they are sent, and `rows` is the caller's.
  auto copied = batch->CopyTo(arrow::default_cpu_memory_manager());
  if (!copied.ok()) return FromArrow(copied.status());
  if (!call_->descriptor.empty()) {
    ChunkHeader header{.size = rows.size_bytes(),
                       .checksum = RowsChecksum(call_->descriptor, rows)};
    return Outcome(FromFlight(call_->exchange.writer->WriteWithMetadata(
                       **copied, arrow::Buffer::FromString(header.Encode()))),
                   call_->options);
  }
  return Outcome(FromFlight(call_->exchange.writer->WriteRecordBatch(**copied)),
                 call_->options);
}

Status RowStream::Finish() {
  return Outcome(FromFlight(call_->exchange.writer->DoneWriting()), call_->options);
}

Result<std::shared_ptr<arrow::RecordBatch>> RowStream::Next() {
  auto message = call_->exchange.reader->Next();
  if (!message.ok()) return Outcome(FromFlight(message.status()), call_->options);
  return message->data;
}

Status RowStream::TakeChunk(ChunkSink& sink) {
  ChunkReceiver receiver(1, &sink);
  while (!receiver.Finish().ok()) {
    auto message = call_->exchange.reader->Next();
    if (!message.ok()) return Outcome(FromFlight(message.status()), call_->options);
    if (message->data == nullptr && message->app_metadata == nullptr) break;
    FB_RETURN_NOT_OK(receiver.Take(*message));
  }
  return Outcome(receiver.Finish(), call_->options);
}

}  // namespace forebay::flight
