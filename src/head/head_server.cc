#include "head/head_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/address.h"
#include "base/log.h"
#include "base/uri.h"

namespace forebay::head {
namespace {

// Each long call (planning a dataset) has one of them; see Versions::Options.
constexpr size_t kWorkers = 64;

Status CheckReach(const Address& place, bool insecure) {
  if (IsLoopback(place.host)) return Status::OK();
  if (!insecure) {
    return Status::Invalid(fmt::format(
        "whoever reaches {} could read and change everything, credentials of datasets "
        "included: there is no authentication yet. Listen at 127.0.0.1, or say "
        "--insecure where only trusted machines reach it",
        place.host));
  }
  spdlog::warn(
      "listening at {} without authentication: whoever reaches it can read and "
      "change everything, credentials of datasets included",
      place.host);
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<HeadServer>> HeadServer::Start(Options options) {
  FB_ASSIGN_OR_RETURN(Address place, ParseAddress(options.listen));
  FB_RETURN_NOT_OK(CheckReach(place, options.insecure));
  auto running = std::unique_ptr<HeadServer>(new HeadServer());
  auto answer = [raw = running.get()](const http::Received& request) {
    HeadService* service = raw->answers_;
    return service != nullptr ? service->Answer(request) : http::Reply{.status = 503};
  };
  // Listens first: with any free port, the address is known only then.
  FB_ASSIGN_OR_RETURN(
      running->server_,
      http::Server::Start({.host = place.host, .port = place.port, .workers = kWorkers},
                          answer));
  Head::Options& head = options.head;
  if (head.meta.empty()) head.meta = "sqlite:" + head.state + "/meta.db";
  place.port = running->port();
  head.address = ReachableAddress(options.advertise, place);
  FB_ASSIGN_OR_RETURN(running->head_, Head::Start(head));
  running->service_ = std::make_unique<HeadService>(running->head_.get());
  running->answers_ = running->service_.get();
  spdlog::info("the head listens at {}:{} as {}, metadata in {}", place.host,
               running->port(), head.address, RedactUri(head.meta));
  return running;
}

std::string HeadServer::DefaultState() {
  if (::geteuid() == 0) return "/var/lib/forebay";
  if (const char* state = std::getenv("XDG_STATE_HOME")) {
    return std::string(state) + "/forebay";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.local/state/forebay";
}

HeadServer::~HeadServer() { server_.reset(); }

}  // namespace forebay::head
