// forebay-kubeflow: a head or a worker as Kubeflow Trainer starts those of its data
// cache. Also found under the names `head` and `worker`; the name, or the first argument,
// says which it is (docs/kubeflow.md).
#include <sys/stat.h>

#include <csignal>
#include <cstdio>

#include "base/log.h"
#include "base/log_level.h"
#include "cli/become.h"
#include "cli/exit_code.h"
#include "kubeflow/head_role.h"
#include "kubeflow/settings.h"
#include "kubeflow/worker_role.h"

namespace {

using forebay::Status;
using forebay::kubeflow::Role;

Status Serve(const forebay::kubeflow::Settings& settings, const sigset_t& signals) {
  if (settings.role == Role::kWorker) {
    FB_ASSIGN_OR_RETURN(std::string node,
                        forebay::cli::FindBeside("forebay-node", "FOREBAY_NODE_BINARY"));
    return forebay::kubeflow::RunWorker(settings, node);
  }
  FB_ASSIGN_OR_RETURN(auto role, forebay::kubeflow::HeadRole::Start(settings));
  int signal = SIGCHLD;
  while (signal == SIGCHLD) ::sigwait(&signals, &signal);
  return Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  auto settings =
      forebay::kubeflow::ReadSettings(std::vector<std::string>(argv, argv + argc),
                                      forebay::kubeflow::ProcessEnvironment());
  if (!settings.ok()) {
    std::fprintf(stderr, "%s\n", settings.status().message().c_str());
    return static_cast<int>(forebay::cli::ExitCode::kUsage);
  }
  ::umask(0077);
  // Before any thread is there: all of them inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  forebay::InitLog(settings->role == Role::kHead ? "head" : "worker",
                   spdlog::level::info);
  Status status = forebay::CheckLogLevel();
  if (status.ok()) status = Serve(*settings, signals);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return static_cast<int>(forebay::cli::ExitCodeOf(status.code()));
}
