#include "kubeflow/head_role.h"

#include <fmt/format.h>

#include "base/log.h"
#include "kubeflow/health.h"
#include "kubeflow/shares.h"

namespace forebay::kubeflow {
namespace {

// Half the usual time: orders and reports go with heartbeats, and a load waits for both.
constexpr milliseconds kTimeout{2'000};

}  // namespace

Result<std::unique_ptr<HeadRole>> HeadRole::Start(const Settings& settings) {
  FB_ASSIGN_OR_RETURN(Scratch scratch, Scratch::Make());
  std::unique_ptr<HeadRole> role(new HeadRole(settings, std::move(scratch)));
  FB_RETURN_NOT_OK(role->Begin());
  return role;
}

HeadRole::~HeadRole() {
  flight_.reset();
  health_.reset();
  control_.reset();
}

Status HeadRole::Begin() {
  FB_ASSIGN_OR_RETURN(health_, ServeHealth(settings_.host, settings_.health_port,
                                           [this] { return ready(); }));
  FB_ASSIGN_OR_RETURN(
      control_,
      http::Server::Start({.host = settings_.local ? "127.0.0.1" : settings_.host,
                           .port = settings_.control_port,
                           .workers = 32},
                          [this](const auto& request) { return Answer(request); }));
  FB_ASSIGN_OR_RETURN(
      head_, head::Head::Start({.meta = "memory:",
                                .state = scratch_.path(),
                                .address = fmt::format("127.0.0.1:{}", control_->port()),
                                .timeout = kTimeout}));
  service_ = std::make_unique<head::HeadService>(head_.get());
  FB_ASSIGN_OR_RETURN(loading_,
                      Loading::Start({.head = head_.get(),
                                      .dataset = settings_.dataset,
                                      .source = settings_.metadata,
                                      .workers = settings_.workers,
                                      .connect_timeout = settings_.connect_timeout}));
  begun_ = true;
  flight::Service::Options serving;  // without a node: it only tells where rows are
  serving.host = settings_.host;
  serving.port = settings_.port;
  serving.path = [this](const auto& path) { return FlightAt(path); };
  FB_ASSIGN_OR_RETURN(flight_, flight::Service::Start(std::move(serving)));
  spdlog::info("flight at {}:{}, waiting for {} workers at port {}", settings_.host,
               flight_->port(), settings_.workers, control_->port());
  return Status::OK();
}

http::Reply HeadRole::Answer(const http::Received& request) {
  if (request.path == "/ready") return AnswerHealth(request, [this] { return ready(); });
  if (!begun_) return {.status = 503};
  return service_->Answer(request);
}

bool HeadRole::ready() const { return begun_ && loading_->ready(); }

Result<flight::PathFlight> HeadRole::FlightAt(
    const std::vector<std::string>& path) const {
  FB_ASSIGN_OR_RETURN(ShareIndex share, ParseShare(path));
  flight::PathFlight found{.manifest = loading_->manifest()};
  if (found.manifest == nullptr) {
    return Status::Unavailable("the table is not loaded yet: wait until /ready says so");
  }
  auto roster = head_->reign()->members->roster();
  bool orphaned = false;
  auto owner_of = [&](const Hash128& unit) {
    auto route = roster->Route(unit, 1);
    orphaned = orphaned || route.empty();
    return route.empty() ? 0 : route[0];
  };
  flight::RowInterval rows = RowsOf(share, found.manifest->row_count());
  for (OwnedRows& part : CutByOwner(*found.manifest, rows, owner_of)) {
    if (orphaned) return Status::Unavailable("no worker is up: try again in a moment");
    flight::Endpoint endpoint;
    endpoint.command.table.dataset = settings_.dataset;
    endpoint.command.intervals = std::move(part.intervals);
    endpoint.location = "grpc://" + roster->members()[part.owner].flight;
    found.endpoints.push_back(std::move(endpoint));
  }
  return found;
}

}  // namespace forebay::kubeflow
