// forebay-node: a node in the foreground, or (--daemon) in the background, in which case
// the command ends as soon as the node listens.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/address.h"
#include "base/log.h"
#include "base/log_level.h"
#include "base/memory_limit.h"
#include "base/size.h"
#include "cli/exit_code.h"
#include "flight/service.h"
#include "head/head_server.h"
#include "node/member.h"
#include "node/metrics.h"
#include "node/node.h"
#include "node/socket_group.h"
#include "wire/channel.h"

namespace {

using forebay::Status;

constexpr int kFlightPort = 7072;

struct Arguments {
  std::string store;
  std::string socket;
  std::string socket_group;
  int64_t idle_ms = 0;
  std::string fill_memory = "1GiB";
  std::string borrowed_memory = "256MiB";
  size_t fill_threads = 0;
  bool daemon = false;
  std::vector<std::string> allowed;
  std::string flight;
  std::string heads;
  std::string id;
  std::string advertise;
  double weight = 0;
  std::string serve;
  bool insecure = false;
  std::string http;
  std::string state = forebay::head::HeadServer::DefaultState();
};

// Flight's streams read from the node, so Flight ends first, and with it the part in a
// cluster.
struct Running {
  std::unique_ptr<forebay::head::HeadServer> head;  // of a node that is a whole cluster
  std::unique_ptr<forebay::node::HeadDatasets> datasets =
      std::make_unique<forebay::node::HeadDatasets>();
  std::unique_ptr<forebay::node::Node> node;
  std::unique_ptr<forebay::flight::Service> flight;
  std::unique_ptr<forebay::node::Member> member;
  std::unique_ptr<forebay::http::Server> http;
};

std::atomic<forebay::node::Node*> running_node = nullptr;
std::atomic<bool> told_to_stop = false;

void OnSignal(int) {
  told_to_stop = true;
  if (forebay::node::Node* node = running_node) node->Stop();
}

// Before the node listens: whoever finds its socket may also end it in order.
void CatchSignals() {
  std::signal(SIGTERM, OnSignal);
  std::signal(SIGINT, OnSignal);
}

// A node that outlives its starter must hold nothing of it: not its pipes, not its
// working directory.
void LetGoOfStarter() {
  ::close_range(3, ~0U, 0);
  if (::chdir("/") != 0) std::perror("chdir /");
}

void RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

forebay::Result<std::unique_ptr<forebay::flight::Service>> StartFlight(
    const Arguments& arguments, forebay::node::Node* node) {
  FB_ASSIGN_OR_RETURN(auto address, forebay::ParseAddress(arguments.flight));
  FB_ASSIGN_OR_RETURN(
      auto flight,
      forebay::flight::Service::Start({.host = address.host,
                                       .port = address.port,
                                       .socket = arguments.socket,
                                       .status = [node] { return node->StatusJson(); }}));
  spdlog::info("flight at {}:{}", address.host, flight->port());
  return flight;
}

// Where a node that is the head as well finds that head, and where it serves Flight: a
// head for this machine alone brings no Flight for others along.
struct OwnPlaces {
  std::string head;
  std::string flight;
};

forebay::Result<OwnPlaces> PlacesOf(const std::string& serve, int head_port) {
  FB_ASSIGN_OR_RETURN(auto address, forebay::ParseAddress(serve));
  auto join = [](const std::string& host, int port) {
    bool is_v6 = host.find(':') != host.npos;
    return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
  };
  bool all = address.host == "0.0.0.0" || address.host == "::";
  return OwnPlaces{.head = join(all ? "127.0.0.1" : address.host, head_port),
                   .flight = join(address.host, kFlightPort)};
}

forebay::Result<std::unique_ptr<forebay::node::Member>> Join(const Arguments& arguments,
                                                             const Running& running) {
  std::vector<std::string> heads = forebay::cluster::SplitHeads(arguments.heads);
  std::string flight = fmt::format("0.0.0.0:{}", kFlightPort);
  if (running.head != nullptr) {
    FB_ASSIGN_OR_RETURN(OwnPlaces own, PlacesOf(arguments.serve, running.head->port()));
    heads = {own.head};
    flight = own.flight;
  }
  return forebay::node::Member::Start(
      {.heads = std::move(heads),
       .id = arguments.id,
       .flight = arguments.flight.empty() ? flight : arguments.flight,
       .advertise = arguments.advertise,
       .weight = arguments.weight,
       .http = arguments.http},
      running.node.get(), running.datasets.get());
}

// The node reads with its own rights, whoever asks: a root's would be all files there
// are.
forebay::Result<std::optional<gid_t>> SocketGroupOf(const Arguments& arguments) {
  if (arguments.socket_group.empty()) return std::optional<gid_t>();
  if (::geteuid() == 0) {
    return Status::Invalid(
        "--socket-group would let others read what root may read: run the node as a "
        "user of its own");
  }
  FB_ASSIGN_OR_RETURN(gid_t group, forebay::node::GroupOf(arguments.socket_group));
  return std::optional<gid_t>(group);
}

// Where a node in the background writes its log.
std::string LogPathOf(const Arguments& arguments) { return arguments.socket + ".log"; }

forebay::Result<Running> Start(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(auto group, SocketGroupOf(arguments));
  FB_ASSIGN_OR_RETURN(auto tiers, forebay::model::ParseStoreSpec(arguments.store));
  for (const std::string& warning :
       forebay::model::StoreWarnings(tiers, forebay::MemoryLimit())) {
    spdlog::warn("{}", warning);
  }
  FB_ASSIGN_OR_RETURN(uint64_t memory, forebay::ParseSize(arguments.fill_memory));
  FB_ASSIGN_OR_RETURN(uint64_t borrowed, forebay::ParseSize(arguments.borrowed_memory));
  Running running;
  if (!arguments.serve.empty()) {
    FB_ASSIGN_OR_RETURN(running.head, forebay::head::HeadServer::Start(
                                          {.listen = arguments.serve,
                                           .insecure = arguments.insecure,
                                           .head = {.state = arguments.state,
                                                    .allowed = arguments.allowed,
                                                    .plan_memory_bytes = memory}}));
  }
  FB_ASSIGN_OR_RETURN(running.node,
                      forebay::node::Node::Start(
                          {.socket_path = arguments.socket,
                           .socket_group = group,
                           .store = std::move(tiers),
                           .borrowed_memory_bytes = borrowed,
                           .engine = {.fill_memory_bytes = memory,
                                      .fill_threads = arguments.fill_threads,
                                      .allowed = arguments.allowed,
                                      .named = running.datasets.get()},
                           .idle_timeout = forebay::milliseconds(arguments.idle_ms),
                           .log_path = arguments.daemon ? LogPathOf(arguments) : ""}));
  if (!arguments.heads.empty() || running.head != nullptr) {
    FB_ASSIGN_OR_RETURN(running.member, Join(arguments, running));
  } else if (!arguments.flight.empty()) {
    FB_ASSIGN_OR_RETURN(running.flight, StartFlight(arguments, running.node.get()));
  }
  if (!arguments.http.empty()) {
    auto* cluster = running.member == nullptr ? nullptr : running.member->cluster();
    FB_ASSIGN_OR_RETURN(running.http, forebay::node::ServeMetrics(
                                          arguments.http, running.node.get(), cluster));
  }
  return running;
}

int Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return static_cast<int>(forebay::cli::ExitCodeOf(status.code()));
}

int Serve(Running& running) {
  running_node = running.node.get();
  if (told_to_stop) running.node->Stop();
  Status status = running.node->Run();
  running_node = nullptr;
  running.datasets->Stop();
  running.http.reset();
  if (running.member != nullptr) running.member->StopServing();
  running.flight.reset();
  // No reader or peer is served from here on, so running fills are cancelled.
  running.node->Close();
  running.member.reset();
  return status.ok() ? 0 : Fail(status);
}

// What is said from now on goes to the log; that of the node before says why it ended.
void LogTo(const std::string& path) {
  (void)::rename(path.c_str(), (path + ".1").c_str());
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  ::dup2(fd, 1);
  ::dup2(fd, 2);
}

// In the child: start, write to a log file of our own, tell the waiting parent.
int ServeDetached(const Arguments& arguments, int ready) {
  ::setsid();
  auto running = Start(arguments);
  // The reader that waits for this command gets the code as it is.
  char failed = static_cast<char>(running.status().code());
  if (running.status().code() == forebay::StatusCode::kUnavailable &&
      forebay::wire::Channel::Connect(arguments.socket).ok()) {
    failed = 0;  // another node was faster: its socket serves as well
  }
  if (failed != 0) Fail(running.status());
  if (running.ok()) LogTo(LogPathOf(arguments));
  if (::write(ready, &failed, 1) != 1) return 1;
  ::close(ready);
  if (!running.ok()) return failed;
  return Serve(*running);
}

int Daemonize(const Arguments& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return 1;
  pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) {
    ::close(ends[0]);
    return ServeDetached(arguments, ends[1]);
  }
  ::close(ends[1]);
  // A child that dies without a word was killed: the reader may try again.
  char failed = static_cast<char>(forebay::StatusCode::kUnavailable);
  [[maybe_unused]] ssize_t got = ::read(ends[0], &failed, 1);
  // Nothing of ours is left to tidy up, and libraries' destructors may take their time.
  ::_exit(failed);
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Forebay's node: owns a store, fills it, hands it to readers.");
  app.add_option("--store", arguments.store, "mem:4GiB,ssd:/var/cache/forebay:100GiB")
      ->required();
  app.add_option("--socket", arguments.socket, "where readers find this node")
      ->required();
  app.add_option(
      "--socket-group", arguments.socket_group,
      "a group, by name or number, whose members are served besides this user");
  app.add_option("--idle-ms", arguments.idle_ms,
                 "leave after so long without use; 0: never");
  app.add_option("--fill-memory", arguments.fill_memory, "cap of all decoding together");
  app.add_option(
      "--borrowed-memory", arguments.borrowed_memory,
      "cap of the memory for chunks that no tier takes, while readers have them");
  app.add_option("--fill-threads", arguments.fill_threads, "0: one per core");
  app.add_option("--allow", arguments.allowed,
                 "read only what is below this place; may be given several times");
  app.add_option("--flight", arguments.flight,
                 "HOST:PORT where Arrow Flight clients are served; without it none are, "
                 "but a member of a cluster is at port 7072 of all addresses, and with "
                 "--serve of that one's host");
  app.add_option(
      "--head", arguments.heads,
      "HOST:PORT of the head whose cluster this node joins; several with commas");
  app.add_option("--id", arguments.id,
                 "what the cluster knows this node by, the same after a restart; the "
                 "advertised address unless given");
  app.add_option("--advertise", arguments.advertise,
                 "HOST:PORT where other members reach this node's Flight");
  app.add_option(
      "--weight", arguments.weight,
      "its share of the data against the others'; the store's GiB unless given");
  app.add_option("--http", arguments.http,
                 "HOST:PORT where /metrics and /healthz are; without it nowhere");
  app.add_option("--serve", arguments.serve,
                 "HOST:PORT: be the head as well, a cluster of one node")
      ->excludes("--head");
  app.add_flag("--insecure", arguments.insecure,
               "let --serve listen where other machines reach it, though it lets "
               "everybody in");
  app.add_option("--state", arguments.state, "where that head keeps its metadata")
      ->capture_default_str();
  app.add_flag("--daemon", arguments.daemon, "go to the background once ready");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(forebay::cli::ExitCode::kUsage);
  }
  ::umask(0077);
  RaiseFileLimit();
  CatchSignals();
  if (Status level = forebay::CheckLogLevel(); !level.ok()) return Fail(level);
  forebay::InitLog("forebay-node", spdlog::level::info);
  arguments.socket = std::filesystem::absolute(arguments.socket).string();
  if (arguments.daemon) {
    LetGoOfStarter();
    return Daemonize(arguments);
  }
  auto running = Start(arguments);
  if (!running.ok()) return Fail(running.status());
  spdlog::info("serving {} at {}", arguments.store, arguments.socket);
  return Serve(*running);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    // Of the standard library, before the node serves anybody: no memory, no threads.
    return Fail(Status::Full(fmt::format("the node cannot start: {}", error.what())));
  }
}
