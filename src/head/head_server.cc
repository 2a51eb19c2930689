#include "head/head_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/log.h"
#include "base/uri.h"

namespace forebay::head {
namespace {

struct Place {
  std::string host;
  int port = 0;
};

Result<Place> ParsePlace(const std::string& text) {
  size_t colon = text.rfind(':');
  char* end = nullptr;
  long port = colon == text.npos ? -1 : std::strtol(&text[colon + 1], &end, 10);
  if (colon == 0 || port < 0 || port > 65'535 || *end != '\0' ||
      end == &text[colon + 1]) {
    return Status::Invalid("'" + text + "' is no place to listen: write host:port");
  }
  return Place{text.substr(0, colon), static_cast<int>(port)};
}

std::string HostName() {
  char name[256] = "";
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// What others can reach: a place that means "all addresses" is none.
std::string Advertised(const std::string& given, const Place& place, int port) {
  if (!given.empty()) return given;
  bool all = place.host == "0.0.0.0" || place.host == "::";
  return fmt::format("{}:{}", all ? HostName() : place.host, port);
}

}  // namespace

Result<std::unique_ptr<HeadServer>> HeadServer::Start(Options options) {
  FB_ASSIGN_OR_RETURN(Place place, ParsePlace(options.listen));
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
  head.address = Advertised(options.advertise, place, running->port());
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
