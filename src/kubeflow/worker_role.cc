#include "kubeflow/worker_role.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "base/errno_status.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/size.h"
#include "cluster/head_client.h"
#include "kubeflow/health.h"
#include "kubeflow/memory.h"
#include "kubeflow/own_address.h"
#include "kubeflow/scratch.h"

namespace forebay::kubeflow {
namespace {

constexpr milliseconds kReadyTimeout{800};  // Kubernetes asks again
constexpr long kNamePauseNanos = 250'000'000;
// Two workers, the head and the trainer share one machine.
constexpr uint64_t kLocalParts = 4;

sigset_t Awaited() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, signal);
  return signals;
}

// The leader's name may be known only in a moment. "": a signal came first.
std::string AwaitOwnAddress(const Settings& settings) {
  if (settings.local) return "127.0.0.1";
  if (!settings.pod_ip.empty()) return settings.pod_ip;
  bool warned = false;
  sigset_t signals = Awaited();
  timespec pause{.tv_sec = 0, .tv_nsec = kNamePauseNanos};
  while (true) {
    auto own = OwnAddressTowards(settings.leader);
    if (own.ok()) return *own;
    if (!warned) spdlog::warn("trying on: {}", own.status().message());
    warned = true;
    if (::sigtimedwait(&signals, nullptr, &pause) > 0) return "";
  }
}

Result<pid_t> StartNode(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child < 0) return ErrnoStatus(errno, "start " + command[0]);
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

// Passes signals on until the node has ended.
Status AwaitEnd(pid_t node) {
  sigset_t signals = Awaited();
  bool told = false;
  while (true) {
    int signal = 0;
    ::sigwait(&signals, &signal);
    if (signal != SIGCHLD) {
      told = true;
      ::kill(node, SIGTERM);
      continue;
    }
    int how = 0;
    if (::waitpid(node, &how, WNOHANG) != node) continue;
    if (told) return Status::OK();
    std::string end = WIFSIGNALED(how) ? fmt::format("signal {}", WTERMSIG(how))
                                       : fmt::format("code {}", WEXITSTATUS(how));
    return Status::Unavailable("the node ended by itself, with " + end);
  }
}

// In one container each has its own port; on one machine it is the head's.
Result<std::unique_ptr<http::Server>> StartHealth(const Settings& settings,
                                                  std::function<bool()> ready) {
  if (settings.local) return std::unique_ptr<http::Server>();
  return ServeHealth(settings.host, settings.health_port, std::move(ready));
}

}  // namespace

Result<std::vector<std::string>> NodeCommand(const Settings& settings,
                                             const WorkerPlace& place) {
  uint64_t limit = settings.local ? place.memory_limit / kLocalParts : place.memory_limit;
  MemorySplit memory = SplitMemory(limit);
  if (!settings.memory.empty()) {
    FB_ASSIGN_OR_RETURN(memory.store, ParseSize(settings.memory));
  }
  return std::vector<std::string>{
      place.binary,
      "--store",
      fmt::format("mem:{}B", memory.store),
      "--fill-memory",
      fmt::format("{}B", memory.fill),
      "--borrowed-memory",
      fmt::format("{}B", memory.borrowed),
      "--socket",
      place.folder + "/node.sock",
      "--flight",
      WithPort(settings.host, settings.port),
      "--advertise",
      WithPort(place.own_address, settings.port),
      "--head",
      WithPort(settings.leader, settings.control_port),
      "--id",
      settings.worker_id,
      "--weight",
      "1",
  };
}

Status RunWorker(const Settings& settings, const std::string& node_binary) {
  FB_ASSIGN_OR_RETURN(Scratch scratch, Scratch::Make());
  WorkerPlace place{.binary = node_binary,
                    .own_address = AwaitOwnAddress(settings),
                    .folder = scratch.path(),
                    .memory_limit = MemoryLimit()};
  if (place.own_address.empty()) return Status::OK();
  FB_ASSIGN_OR_RETURN(std::vector<std::string> command, NodeCommand(settings, place));
  // Before any thread is there: a fork takes none of them along.
  FB_ASSIGN_OR_RETURN(pid_t node, StartNode(command));
  FB_ASSIGN_OR_RETURN(std::shared_ptr<cluster::HeadClient> head,
                      cluster::HeadClient::Make(
                          {.heads = {WithPort(settings.leader, settings.control_port)}}));
  auto health = StartHealth(settings, [head] {
    return head->Get("/ready", Deadline::After(kReadyTimeout)).ok();
  });
  if (!health.ok()) {
    ::kill(node, SIGTERM);
    return health.status();
  }
  return AwaitEnd(node);
}

}  // namespace forebay::kubeflow
