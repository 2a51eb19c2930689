#include "flight/service.h"

#include <arrow/api.h>
#include <arrow/flight/server.h>
#include <arrow/flight/server_middleware.h>
#include <fmt/format.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "base/arrow_status.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "flight/arrow_batches.h"
#include "flight/bulk_server.h"
#include "flight/bulk_socket.h"
#include "flight/call_scope.h"
#include "flight/chunk_stream.h"
#include "flight/flight_status.h"
#include "flight/known_flight.h"
#include "flight/message_limit.h"
#include "flight/planned_flight.h"
#include "flight/row_exchange.h"
#include "flight/tables.h"
#include "wire/authenticate.h"

namespace forebay::flight {
namespace {

namespace af = arrow::flight;
using nlohmann::json;

constexpr milliseconds kStopTime = milliseconds(500);
constexpr size_t kListedMax = 1000;
// What gRPC starts before it listens, and some to spare.
constexpr size_t kGrpcThreads = 16;

class Door : public af::ServerMiddlewareFactory {
 public:
  arrow::Status StartCall(const af::CallInfo& info, const af::ServerCallContext& context,
                          std::shared_ptr<af::ServerMiddleware>*) override {
    wire::Call call{
        .method = af::ToString(info.method), .peer = context.peer(), .credentials = {}};
    auto header = context.incoming_headers().find("authorization");
    if (header != context.incoming_headers().end()) call.credentials = header->second;
    return ToFlight(wire::Authenticate(call));
  }
};

// Counts a stream while it lives.
class StreamCount {
 public:
  explicit StreamCount(std::atomic<uint32_t>* count) : count_(count) { ++*count_; }
  ~StreamCount() { --*count_; }
  StreamCount(const StreamCount&) = delete;
  StreamCount& operator=(const StreamCount&) = delete;
  uint32_t value() const { return *count_; }

 private:
  std::atomic<uint32_t>* count_;
};

// What a DoGet streams. gRPC keeps the call's context until the stream has ended.
class BatchReader : public arrow::RecordBatchReader {
 public:
  struct Parts {
    std::shared_ptr<arrow::Schema> schema;
    std::unique_ptr<FlightBatches> batches;
    std::shared_ptr<StreamCount> count;
    std::function<bool()> ended;
  };
  explicit BatchReader(Parts parts) : parts_(std::move(parts)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return parts_.schema; }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    CallScope scope(&parts_.ended);
    auto batch = Next();
    if (!batch.ok()) return ToFlight(batch.status());
    *out = *std::move(batch);
    return arrow::Status::OK();
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> Next() {
    FB_ASSIGN_OR_RETURN(auto batch, parts_.batches->Next(parts_.ended));
    if (!batch) return std::shared_ptr<arrow::RecordBatch>();
    return ToRecordBatch(*std::move(batch), parts_.schema);
  }

  Parts parts_;
};

std::string_view Text(const std::shared_ptr<arrow::Buffer>& buffer) {
  if (buffer == nullptr) return {};
  return {reinterpret_cast<const char*>(buffer->data()),
          static_cast<size_t>(buffer->size())};
}

json ToJson(const wire::WarmupState& state) {
  return {{"done", state.done},
          {"rows_done", state.rows_done},
          {"row_count", state.row_count},
          {"chunks_done", state.chunks_done},
          {"chunk_count", state.chunk_count},
          {"bytes_stored", state.bytes_stored},
          {"bytes_fetched", state.bytes_fetched},
          {"failures", state.failures}};
}

}  // namespace

class Service::Server : public af::FlightServerBase {
 public:
  explicit Server(Options options)
      : options_(std::move(options)),
        tables_(Tables::Make({.socket = options_.socket,
                              .datasets = options_.datasets,
                              .timeout = options_.timeout})) {}

  Status Listen();
  void Stop();

  arrow::Status ListFlights(const af::ServerCallContext& context,
                            const af::Criteria* criteria,
                            std::unique_ptr<af::FlightListing>* listings) override;
  arrow::Status GetFlightInfo(const af::ServerCallContext& context,
                              const af::FlightDescriptor& request,
                              std::unique_ptr<af::FlightInfo>* info) override;
  arrow::Status GetSchema(const af::ServerCallContext& context,
                          const af::FlightDescriptor& request,
                          std::unique_ptr<af::SchemaResult>* schema) override;
  arrow::Status DoGet(const af::ServerCallContext& context, const af::Ticket& request,
                      std::unique_ptr<af::FlightDataStream>* stream) override;
  arrow::Status DoExchange(const af::ServerCallContext& context,
                           std::unique_ptr<af::FlightMessageReader> reader,
                           std::unique_ptr<af::FlightMessageWriter> writer) override;
  arrow::Status ListActions(const af::ServerCallContext& context,
                            std::vector<af::ActionType>* actions) override;
  arrow::Status DoAction(const af::ServerCallContext& context, const af::Action& action,
                         std::unique_ptr<af::ResultStream>* result) override;

 private:
  Status ListenForBulk();
  // True once the client has gone or the service stops.
  std::function<bool()> EndOf(const af::ServerCallContext& context) const {
    return [this, &context] { return stopping_ || context.is_cancelled(); };
  }
  // Runs a call's work: waits inside it end with the call.
  template <typename Work>
  arrow::Status Serve(const af::ServerCallContext& context, Work work) const {
    std::function<bool()> ended = EndOf(context);
    CallScope scope(&ended);
    return ToFlight(work());
  }
  Result<std::shared_ptr<StreamCount>> CountStream();
  Result<PathFlight> FlightOf(const af::FlightDescriptor& descriptor) const;
  Result<PlannedFlight> Plan(const BatchCommand& command);
  Result<af::FlightInfo> InfoOf(const af::FlightDescriptor& descriptor,
                                std::vector<Endpoint> endpoints);
  Result<std::unique_ptr<af::FlightDataStream>> StreamOf(const BatchCommand& command,
                                                         std::function<bool()> ended);
  Result<std::unique_ptr<af::FlightDataStream>> StreamOf(const ChunkRequest& request,
                                                         std::function<bool()> ended);
  Result<std::vector<af::FlightInfo>> List(const std::string& prefix);
  Result<std::string> Act(const std::string& type, std::string_view body);
  Result<std::string> Warmup(std::string_view body);

  const Options options_;
  std::shared_ptr<Tables> tables_;
  std::unique_ptr<BulkServer> bulk_;
  int bulk_port_ = 0;
  std::atomic<uint32_t> stream_count_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> listening_{false};
};

Status Service::Server::Listen() {
  FB_RETURN_NOT_OK(CheckThreadRoom(kGrpcThreads));
  FB_RETURN_NOT_OK(ListenForBulk());
  // gRPC would say that a port is taken in lines of its own.
  if (options_.port != 0) {
    FB_RETURN_NOT_OK(BulkListener::Listen(options_.host, options_.port).status());
  }
  FB_ASSIGN_OR_RETURN(auto location,
                      FromArrow(af::Location::ForGrpcTcp(options_.host, options_.port)));
  af::FlightServerOptions server(location);
  server.middleware.emplace_back("authenticate", std::make_shared<Door>());
  server.builder_hook = LimitReceivedMessages();
  arrow::Status status = Init(server);
  if (!status.ok()) {
    return Status::Invalid(fmt::format("Flight cannot listen at {}:{}: {}", options_.host,
                                       options_.port, status.message()));
  }
  listening_ = true;
  return Status::OK();
}

Status Service::Server::ListenForBulk() {
  if (options_.chunks == nullptr || !options_.bulk) return Status::OK();
  FB_ASSIGN_OR_RETURN(
      bulk_, BulkServer::Start(
                 {.host = options_.host, .chunks = options_.chunks, .tables = tables_}));
  bulk_port_ = bulk_->port();
  return Status::OK();
}

void Service::Server::Stop() {
  if (!listening_.exchange(false)) return;
  stopping_ = true;
  bulk_.reset();
  auto deadline = std::chrono::system_clock::now() + kStopTime;
  arrow::Status status = Shutdown(&deadline);
  if (status.ok()) status = Wait();
  if (!status.ok()) spdlog::warn("flight: the end: {}", status.message());
}

Result<std::shared_ptr<StreamCount>> Service::Server::CountStream() {
  auto count = std::make_shared<StreamCount>(&stream_count_);
  if (count->value() <= options_.streams_max) return count;
  return Status::Unavailable(fmt::format(
      "{} streams are open already, the most this server takes: try again later",
      options_.streams_max));
}

Result<PathFlight> Service::Server::FlightOf(
    const af::FlightDescriptor& descriptor) const {
  PathFlight flight{.endpoints = std::vector<Endpoint>(1)};
  if (descriptor.type == af::FlightDescriptor::CMD) {
    FB_ASSIGN_OR_RETURN(flight.endpoints[0].command, ParseBatchCommand(descriptor.cmd));
    return flight;
  }
  if (descriptor.type != af::FlightDescriptor::PATH || descriptor.path.empty()) {
    return Status::Invalid("the descriptor names nothing: give a command or a path");
  }
  if (options_.path) return options_.path(descriptor.path);
  if (descriptor.path.size() != 1 || descriptor.path[0].empty()) {
    return Status::Invalid("a path has one element, the name of a dataset");
  }
  flight.endpoints[0].command.table.dataset = descriptor.path[0];
  return flight;
}

Result<PlannedFlight> Service::Server::Plan(const BatchCommand& command) {
  FB_ASSIGN_OR_RETURN(Tables::Lease table, tables_->Take(command.table));
  return PlannedFlight::Make(command, std::move(table));
}

Result<af::FlightInfo> Service::Server::InfoOf(const af::FlightDescriptor& descriptor,
                                               std::vector<Endpoint> endpoints) {
  std::shared_ptr<arrow::Schema> schema;
  std::vector<af::FlightEndpoint> out;
  int64_t records = 0;
  std::optional<uint64_t> bytes = 0;
  for (Endpoint& endpoint : endpoints) {
    FB_ASSIGN_OR_RETURN(PlannedFlight flight, Plan(endpoint.command));
    const model::Manifest& manifest = *flight.table()->manifest();
    FB_ASSIGN_OR_RETURN(schema, ArrowSchemaOf(manifest.schema(), flight.fields()));
    records += static_cast<int64_t>(flight.record_count());
    FB_ASSIGN_OR_RETURN(auto more, flight.ByteCount());
    bytes = bytes && more ? std::optional(*bytes + *more) : std::nullopt;
    endpoint.command.table.version = manifest.version();
    af::FlightEndpoint part;
    part.ticket.ticket = endpoint.command.ToJson();
    if (!endpoint.location.empty()) {
      FB_ASSIGN_OR_RETURN(auto location,
                          FromArrow(af::Location::Parse(endpoint.location)));
      part.locations.push_back(std::move(location));
    }
    out.push_back(std::move(part));
  }
  if (schema == nullptr) return Status::NotFound("this flight has no endpoints");
  return FromArrow(af::FlightInfo::Make(*schema, descriptor, out, records,
                                        bytes ? static_cast<int64_t>(*bytes) : -1,
                                        /*ordered=*/true));
}

arrow::Status Service::Server::GetFlightInfo(const af::ServerCallContext& context,
                                             const af::FlightDescriptor& request,
                                             std::unique_ptr<af::FlightInfo>* info) {
  return Serve(context, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(PathFlight flight, FlightOf(request));
    auto found = flight.manifest != nullptr
                     ? InfoOfKnown(request, flight)
                     : InfoOf(request, std::move(flight.endpoints));
    FB_RETURN_NOT_OK(found.status());
    *info = std::make_unique<af::FlightInfo>(*std::move(found));
    return Status::OK();
  });
}

arrow::Status Service::Server::GetSchema(const af::ServerCallContext& context,
                                         const af::FlightDescriptor& request,
                                         std::unique_ptr<af::SchemaResult>* schema) {
  return Serve(context, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(PathFlight wanted, FlightOf(request));
    if (wanted.manifest != nullptr) {
      FB_ASSIGN_OR_RETURN(auto known, SchemaOfKnown(wanted));
      FB_ASSIGN_OR_RETURN(*schema, FromArrow(af::SchemaResult::Make(*known)));
      return Status::OK();
    }
    if (wanted.endpoints.empty()) return Status::NotFound("this flight has no endpoints");
    FB_ASSIGN_OR_RETURN(PlannedFlight flight, Plan(wanted.endpoints[0].command));
    FB_ASSIGN_OR_RETURN(
        auto found, ArrowSchemaOf(flight.table()->manifest()->schema(), flight.fields()));
    FB_ASSIGN_OR_RETURN(*schema, FromArrow(af::SchemaResult::Make(*found)));
    return Status::OK();
  });
}

Result<std::unique_ptr<af::FlightDataStream>> Service::Server::StreamOf(
    const BatchCommand& command, std::function<bool()> ended) {
  FB_ASSIGN_OR_RETURN(auto count, CountStream());
  FB_ASSIGN_OR_RETURN(PlannedFlight flight, Plan(command));
  BatchReader::Parts parts{
      .schema = {}, .batches = {}, .count = std::move(count), .ended = std::move(ended)};
  FB_ASSIGN_OR_RETURN(
      parts.schema, ArrowSchemaOf(flight.table()->manifest()->schema(), flight.fields()));
  FB_ASSIGN_OR_RETURN(parts.batches, flight.Batches(tables_->pool()));
  return std::make_unique<af::RecordBatchStream>(
      std::make_shared<BatchReader>(std::move(parts)));
}

Result<std::unique_ptr<af::FlightDataStream>> Service::Server::StreamOf(
    const ChunkRequest& request, std::function<bool()> ended) {
  if (options_.chunks == nullptr) {
    return Status::Unsupported("this server has no chunks for peers");
  }
  FB_ASSIGN_OR_RETURN(auto count, CountStream());
  FB_ASSIGN_OR_RETURN(auto chunks, options_.chunks->Serve(request));
  auto counted = [ended = std::move(ended), count] { return ended(); };
  return MakeChunkStream(std::move(chunks), request.refs.size(), counted);
}

arrow::Status Service::Server::DoGet(const af::ServerCallContext& context,
                                     const af::Ticket& request,
                                     std::unique_ptr<af::FlightDataStream>* stream) {
  return Serve(context, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(Ticket ticket, ParseTicket(request.ticket));
    FB_ASSIGN_OR_RETURN(
        *stream,
        std::visit([&](const auto& wanted) { return StreamOf(wanted, EndOf(context)); },
                   ticket));
    return Status::OK();
  });
}

arrow::Status Service::Server::DoExchange(
    const af::ServerCallContext& context, std::unique_ptr<af::FlightMessageReader> reader,
    std::unique_ptr<af::FlightMessageWriter> writer) {
  return Serve(context, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(auto count, CountStream());
    FB_ASSIGN_OR_RETURN(RowsRequest request, ParseRowsRequest(reader->descriptor().cmd));
    return ExchangeRows(request, *tables_, *reader, *writer);
  });
}

Result<std::vector<af::FlightInfo>> Service::Server::List(const std::string& prefix) {
  std::vector<NamedDataset> datasets;
  if (options_.datasets != nullptr) {
    FB_ASSIGN_OR_RETURN(datasets, options_.datasets->List());
  } else {
    datasets = tables_->Recent();
  }
  std::vector<af::FlightInfo> out;
  for (const NamedDataset& dataset : datasets) {
    if (!dataset.name.starts_with(prefix) || out.size() >= kListedMax) continue;
    Endpoint endpoint;
    af::FlightDescriptor descriptor;
    if (dataset.name.empty()) {
      endpoint.command.table = {
          .dataset = {}, .uri = dataset.uri, .options = dataset.options, .version = {}};
      descriptor = af::FlightDescriptor::Command(endpoint.command.ToJson());
    } else {
      endpoint.command.table.dataset = dataset.name;
      descriptor = af::FlightDescriptor::Path({dataset.name});
    }
    auto info = InfoOf(descriptor, {std::move(endpoint)});
    // One that cannot be opened now must not hide the others.
    if (info.ok()) out.push_back(*std::move(info));
  }
  return out;
}

arrow::Status Service::Server::ListFlights(const af::ServerCallContext& context,
                                           const af::Criteria* criteria,
                                           std::unique_ptr<af::FlightListing>* listings) {
  return Serve(context, [&]() -> Status {
    std::string prefix = criteria == nullptr ? std::string() : criteria->expression;
    FB_ASSIGN_OR_RETURN(auto found, List(prefix));
    *listings = std::make_unique<af::SimpleFlightListing>(std::move(found));
    return Status::OK();
  });
}

arrow::Status Service::Server::ListActions(const af::ServerCallContext&,
                                           std::vector<af::ActionType>* actions) {
  *actions = {{"status", "The node's status, JSON."},
              {"warmup",
               "Brings a table into the store: a command of batches in, JSON "
               "out once it is done."}};
  if (bulk_port_ != 0) {
    actions->push_back(
        {"bulk", "Where peers fetch chunks past gRPC: {\"port\": N, \"version\": N}."});
  }
  return arrow::Status::OK();
}

Result<std::string> Service::Server::Warmup(std::string_view body) {
  FB_ASSIGN_OR_RETURN(BatchCommand command, ParseBatchCommand(body));
  FB_ASSIGN_OR_RETURN(PlannedFlight flight, Plan(command));
  uint32_t view = flight.table()->ViewOf(flight.choice().columns);
  FB_ASSIGN_OR_RETURN(wire::WarmupState state, flight.table()->Warmup(view, {}));
  return ToJson(state).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::string> Service::Server::Act(const std::string& type, std::string_view body) {
  if (type == "warmup") return Warmup(body);
  if (type == "status" && options_.status) return options_.status();
  if (type == "bulk" && bulk_port_ != 0) {
    return json{{"port", bulk_port_}, {"version", BulkHeader::kVersion}}.dump();
  }
  return Status::Unsupported(fmt::format(
      "there is no action \"{}\" here: ListActions tells which there are", type));
}

arrow::Status Service::Server::DoAction(const af::ServerCallContext& context,
                                        const af::Action& action,
                                        std::unique_ptr<af::ResultStream>* result) {
  return Serve(context, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(std::string text, Act(action.type, Text(action.body)));
    std::vector<af::Result> results;
    results.emplace_back(arrow::Buffer::FromString(std::move(text)));
    *result = std::make_unique<af::SimpleResultStream>(std::move(results));
    return Status::OK();
  });
}

Service::Service(std::unique_ptr<Server> server) : server_(std::move(server)) {}

Service::~Service() { Stop(); }

Result<std::unique_ptr<Service>> Service::Start(Options options) {
  auto server = std::make_unique<Server>(std::move(options));
  FB_RETURN_NOT_OK(server->Listen());
  return std::unique_ptr<Service>(new Service(std::move(server)));
}

int Service::port() const { return server_->port(); }

void Service::Stop() { server_->Stop(); }

}  // namespace forebay::flight
