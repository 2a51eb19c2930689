#include "head/head_server.h"

#include <unistd.h>

#include <cstdlib>

#include "base/address.h"
#include "base/log.h"
#include "base/uri.h"

namespace forebay::head {
Result<std::unique_ptr<HeadServer>> HeadServer::Start(Options options) {
  FB_ASSIGN_OR_RETURN(Address place, ParseAddress(options.listen));
  auto running = std::unique_ptr<HeadServer>(new HeadServer());
  auto answer = [raw = running.get()](const http::Received& request) {
    HeadService* service = raw->answers_;
    return service != nullptr ? service->Answer(request) : http::Reply{.status = 503};
  };
  // Listens first: with any free port, the address is known only then.
  FB_ASSIGN_OR_RETURN(
      running->server_,
      http::Server::Start({.host = place.host, .port = place.port, .workers = 32},
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
