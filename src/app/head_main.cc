// forebay-head: a cluster's head, in the foreground.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "base/uri.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "head/head.h"
#include "head/head_service.h"
#include "http/server.h"

namespace {

using forebay::Result;
using forebay::Status;

struct Arguments {
  std::string meta;
  std::string state;
  std::string listen = "0.0.0.0:7070";
  std::string advertise;
  std::string timeout = "4s";
  std::string place_kept = "10m";
  std::vector<std::string> allowed;
};

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

std::string DefaultState() {
  if (::geteuid() == 0) return "/var/lib/forebay";
  if (const char* state = std::getenv("XDG_STATE_HOME")) {
    return std::string(state) + "/forebay";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.local/state/forebay";
}

std::string HostName() {
  char name[256] = "";
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

// What others can reach: a place that means "all addresses" is none.
std::string Advertised(const Arguments& arguments, const Place& place, int port) {
  if (!arguments.advertise.empty()) return arguments.advertise;
  bool all = place.host == "0.0.0.0" || place.host == "::";
  return (all ? HostName() : place.host) + ":" + std::to_string(port);
}

int Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return static_cast<int>(forebay::cli::ExitCodeOf(status.code()));
}

// Listens first: with any free port, the address is known only then.
Status Serve(const Arguments& arguments, const sigset_t& signals) {
  FB_ASSIGN_OR_RETURN(Place place, ParsePlace(arguments.listen));
  FB_ASSIGN_OR_RETURN(auto timeout, forebay::cli::ParseDuration(arguments.timeout));
  FB_ASSIGN_OR_RETURN(auto place_kept, forebay::cli::ParseDuration(arguments.place_kept));
  std::atomic<forebay::head::HeadService*> service{nullptr};
  auto answer = [&service](const forebay::http::Received& request) {
    auto* there = service.load();
    if (there != nullptr) return there->Answer(request);
    return forebay::http::Reply{.status = 503};
  };
  FB_ASSIGN_OR_RETURN(
      auto server, forebay::http::Server::Start(
                       {.host = place.host, .port = place.port, .workers = 32}, answer));
  forebay::head::Head::Options options{
      .meta = arguments.meta.empty() ? "sqlite:" + arguments.state + "/meta.db"
                                     : arguments.meta,
      .state = arguments.state,
      .address = Advertised(arguments, place, server->port()),
      .timeout = timeout,
      .place_kept = place_kept,
      .allowed = arguments.allowed};
  FB_ASSIGN_OR_RETURN(auto head, forebay::head::Head::Start(options));
  forebay::head::HeadService serving(head.get());
  service = &serving;
  spdlog::info("the head listens at {}:{} as {}, metadata in {}", place.host,
               server->port(), options.address, forebay::RedactUri(options.meta));
  int signal = 0;
  ::sigwait(&signals, &signal);
  server.reset();
  return Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  arguments.state = DefaultState();
  CLI::App app("Forebay's head: knows a cluster's datasets and nodes.");
  app.add_option("--meta", arguments.meta,
                 "where metadata is kept: sqlite:/path, etcd://host:2379,host:2379, "
                 "memory: (default: SQLite in the state directory)");
  app.add_option("--state", arguments.state, "the directory for manifests")
      ->capture_default_str();
  app.add_option("--listen", arguments.listen, "host:port; port 0: any free one")
      ->capture_default_str();
  app.add_option("--advertise", arguments.advertise,
                 "host:port where nodes and other heads reach this one");
  app.add_option("--timeout", arguments.timeout,
                 "T: a node that is silent for so long is down")
      ->capture_default_str();
  app.add_option("--place-kept", arguments.place_kept,
                 "a node that is down for so long loses its place")
      ->capture_default_str();
  app.add_option("--allow", arguments.allowed,
                 "read only what is below this place; may be given several times");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(forebay::cli::ExitCode::kUsage);
  }
  ::umask(0077);
  // Before any thread is there: all of them inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  forebay::InitLog("forebay-head", spdlog::level::info);
  Status status = Serve(arguments, signals);
  return status.ok() ? 0 : Fail(status);
}
