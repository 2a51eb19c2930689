// Arrow Flight: any Flight client as a reader, and the chunks and rows that nodes ask
// each other for. docs/formats/flight-ticket.md tells what clients say. A thread of
// gRPC's own serves each call.
//
//   auto service = flight::Service::Start({.host = "127.0.0.1", .port = 0,
//                                          .socket = node_socket});
//   service->port();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "flight/chunk_provider.h"
#include "flight/datasets.h"
#include "model/manifest.h"

namespace forebay::flight {

// A part of a flight, and who serves it.
struct Endpoint {
  BatchCommand command;
  std::string location{};  // "grpc+tcp://host:port"; empty: this server
};

// What a path stands for.
struct PathFlight {
  std::vector<Endpoint> endpoints{};
  // The table's, where it is known without asking a node. Then a flight without rows has
  // no endpoint, else the endpoints have `intervals`.
  std::shared_ptr<const model::Manifest> manifest{};
};

class Service {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 0;        // 0: a free one
    std::string socket;  // of the node whose tables are served
    // Each may be null, and must outlive the service.
    Datasets* datasets = nullptr;     // names; null: places only
    ChunkProvider* chunks = nullptr;  // for peers; null: refused
    bool bulk = true;  // peers may fetch chunks over a port of their own, past gRPC
    // What a path means, where it is more than a dataset's name (Kubeflow's
    // [index, total]).
    std::function<Result<PathFlight>(const std::vector<std::string>&)> path{};
    // What the action `status` answers; empty: refused.
    std::function<std::string()> status{};
    uint32_t streams_max = 1024;  // more are turned away with kUnavailable
    milliseconds timeout = std::chrono::minutes(10);  // of every wait for the node
  };

  // Listening. kInvalid when the address cannot be had.
  static Result<std::unique_ptr<Service>> Start(Options options);
  // Streams that have not ended after a moment are cancelled.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  int port() const;
  void Stop();

 private:
  class Server;
  explicit Service(std::unique_ptr<Server> server);

  std::unique_ptr<Server> server_;
};

}  // namespace forebay::flight
