// forebay-head: a cluster's head, in the foreground.
#include <sys/stat.h>

#include <CLI/App.hpp>
#include <csignal>
#include <cstdio>

#include "base/log.h"
#include "base/log_level.h"
#include "base/size.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "head/head_server.h"

namespace {

using forebay::Status;

struct Arguments {
  std::string meta;
  std::string state;
  std::string listen = "127.0.0.1:7070";
  bool insecure = false;
  std::string advertise;
  std::string timeout = "4s";
  std::string place_kept = "10m";
  std::string plan_memory = "1GiB";
  std::vector<std::string> allowed;
};

int Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return static_cast<int>(forebay::cli::ExitCodeOf(status.code()));
}

Status Serve(const Arguments& arguments, const sigset_t& signals) {
  FB_ASSIGN_OR_RETURN(auto timeout, forebay::cli::ParseDuration(arguments.timeout));
  FB_ASSIGN_OR_RETURN(auto place_kept, forebay::cli::ParseDuration(arguments.place_kept));
  FB_ASSIGN_OR_RETURN(uint64_t memory, forebay::ParseSize(arguments.plan_memory));
  FB_ASSIGN_OR_RETURN(auto server, forebay::head::HeadServer::Start(
                                       {.listen = arguments.listen,
                                        .insecure = arguments.insecure,
                                        .advertise = arguments.advertise,
                                        .head = {.meta = arguments.meta,
                                                 .state = arguments.state,
                                                 .timeout = timeout,
                                                 .place_kept = place_kept,
                                                 .allowed = arguments.allowed,
                                                 .plan_memory_bytes = memory}}));
  int signal = 0;
  ::sigwait(&signals, &signal);
  return Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  arguments.state = forebay::head::HeadServer::DefaultState();
  CLI::App app("Forebay's head: knows a cluster's datasets and nodes.");
  app.add_option("--meta", arguments.meta,
                 "where metadata is kept: sqlite:/path, etcd://host:2379,host:2379, "
                 "memory: (default: SQLite in the state directory)");
  app.add_option("--state", arguments.state, "the directory for manifests")
      ->capture_default_str();
  app.add_option("--listen", arguments.listen, "host:port; port 0: any free one")
      ->capture_default_str();
  app.add_flag("--insecure", arguments.insecure,
               "listen where other machines reach it, though it lets everybody in: there "
               "is no authentication yet");
  app.add_option("--advertise", arguments.advertise,
                 "host:port where nodes and other heads reach this one");
  app.add_option("--timeout", arguments.timeout,
                 "T: a node that is silent for so long is down")
      ->capture_default_str();
  app.add_option("--place-kept", arguments.place_kept,
                 "a node that is down for so long loses its place")
      ->capture_default_str();
  app.add_option("--plan-memory", arguments.plan_memory,
                 "cap of the memory in which tables are planned")
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
  if (Status level = forebay::CheckLogLevel(); !level.ok()) return Fail(level);
  forebay::InitLog("forebay-head", spdlog::level::info);
  Status status = Serve(arguments, signals);
  return status.ok() ? 0 : Fail(status);
}
