// forebay-mount: holds a mount (docs/mounts.md). The same program, started by itself with
// --serve-on, is the process that answers; when that dies the next one goes on.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "base/log_level.h"
#include "base/read_to_end.h"
#include "base/size.h"
#include "base/uri.h"
#include "cli/exit_code.h"
#include "cli/files/mount_arguments.h"
#include "fuse/mount_table.h"
#include "fuse/serve.h"
#include "fuse/supervisor.h"

namespace {

using forebay::Result;
using forebay::Status;
using forebay::UniqueFd;
namespace cli = forebay::cli;
namespace fuse = forebay::fuse;

constexpr uint64_t kMemoryMin = 64 * forebay::kMiB;

struct Arguments {
  cli::MountArguments mount;
  int serve_on = -1;
  std::string control;
};

int Fail(const Status& status) {
  std::fprintf(stderr, "forebay: %s\n", status.message().c_str());
  return static_cast<int>(cli::ExitCodeOf(status.code()));
}

Result<fuse::ServeOptions> ServeOptionsOf(const Arguments& arguments) {
  fuse::ServeOptions options;
  FB_ASSIGN_OR_RETURN(auto sources, cli::MountSources(arguments.mount));
  for (const cli::MountSource& source : sources) {
    options.specs.push_back({.uri = source.uri, .name = source.name});
  }
  FB_ASSIGN_OR_RETURN(options.open, cli::OpenOptionsOf(arguments.mount.open));
  FB_ASSIGN_OR_RETURN(options.memory_bytes, forebay::ParseSize(arguments.mount.memory));
  if (options.memory_bytes < kMemoryMin) {
    return Status::Invalid("a mount needs a --memory of 64MiB at least, not " +
                           arguments.mount.memory);
  }
  options.profile = arguments.mount.profile;
  options.control = arguments.control;
  return options;
}

void RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int ServeMount(const Arguments& arguments) {
  // What a terminal sends to both is for the supervisor.
  for (int signal : {SIGINT, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  auto options = ServeOptionsOf(arguments);
  if (!options.ok()) return Fail(options.status());
  ::fcntl(arguments.serve_on, F_SETFD, FD_CLOEXEC);
  return fuse::Serve(*options, UniqueFd(arguments.serve_on));
}

// What `mount` shows.
std::string NameOf(const std::vector<cli::MountSource>& sources) {
  std::string name;
  for (const cli::MountSource& source : sources) {
    if (!name.empty()) name += ' ';
    name += forebay::RedactUri(source.uri);
  }
  return name;
}

Result<fuse::Supervisor::Options> SupervisorOptionsOf(const Arguments& arguments,
                                                      const fuse::MountState& state) {
  FB_ASSIGN_OR_RETURN(auto sources, cli::MountSources(arguments.mount));
  FB_ASSIGN_OR_RETURN(auto words, cli::MountWords(arguments.mount));
  // By its path: a serving process that is started later may be of a newer version.
  std::error_code error;
  std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  auto command = [self, words, &state] {
    std::vector<std::string> all = {self, "--serve-on",
                                    std::to_string(fuse::Supervisor::kServingFd),
                                    "--control", state.socket_path()};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  };
  return fuse::Supervisor::Options{.mount = {.directory = state.directory(),
                                             .name = NameOf(sources),
                                             .allow_other = arguments.mount.allow_other},
                                   .command = std::move(command),
                                   .state = &state,
                                   .on_ready = {}};
}

Status Supervise(const Arguments& arguments, const fuse::MountState& state,
                 std::function<void()> on_ready) {
  FB_ASSIGN_OR_RETURN(auto options, SupervisorOptionsOf(arguments, state));
  options.on_ready = std::move(on_ready);
  return fuse::Supervisor(std::move(options)).Run();
}

// In the child: nothing of the starter is kept, and what is logged goes to a file.
void Detach(const fuse::MountState& state) {
  ::setsid();
  if (::chdir("/") != 0) std::perror("chdir /");
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  int log =
      ::open(state.log_path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(null, 0);
  ::dup2(log >= 0 ? log : null, 1);
  ::dup2(log >= 0 ? log : null, 2);
}

int SuperviseDetached(const Arguments& arguments, const fuse::MountState& state,
                      UniqueFd ready) {
  Detach(state);
  // A starter that is interrupted before the mount answers wants none.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  auto tell = [&](const Status& status) {
    std::string text(1, static_cast<char>(status.code()));
    text += status.message();
    if (ready.valid() && ::write(ready.get(), text.data(), text.size()) < 0) return;
    ready.Reset();
  };
  Status status = Supervise(arguments, state, [&] {
    ::prctl(PR_SET_PDEATHSIG, 0);
    tell(Status::OK());
  });
  if (!status.ok()) spdlog::error("{}", status.message());
  tell(status);
  return status.ok() ? 0 : 1;
}

int Daemonize(const Arguments& arguments, std::unique_ptr<fuse::MountState> state) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return 1;
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  pid_t child = ::fork();
  if (child < 0) return Fail(Status::Unavailable("no more processes can be started"));
  if (child == 0) {
    read_end.Reset();
    return SuperviseDetached(arguments, *state, std::move(write_end));
  }
  state->Disown();
  write_end.Reset();
  std::string text = forebay::ReadToEnd(read_end.get());
  if (text.empty()) return Fail(Status::Unavailable("the mount died while it began"));
  Status status(static_cast<forebay::StatusCode>(text[0]), text.substr(1));
  return status.ok() ? 0 : Fail(status);
}

// A source that lies in its own mount would wait for itself.
Status CheckApart(const std::vector<cli::MountSource>& sources,
                  const std::string& place) {
  for (const cli::MountSource& source : sources) {
    FB_ASSIGN_OR_RETURN(forebay::Uri uri, forebay::Uri::Parse(source.uri));
    if (uri.scheme != "file") continue;
    std::error_code error;
    auto path = std::filesystem::weakly_canonical(uri.path, error).string() + "/";
    if (!error && (path.starts_with(place + "/") || (place + "/").starts_with(path))) {
      return Status::Invalid("the source " + uri.path +
                             " and the directory to mount at lie in each other: mount it "
                             "somewhere else");
    }
  }
  return Status::OK();
}

int MountNow(const Arguments& arguments) {
  // A mount outlives its starter and must hold nothing of it.
  ::close_range(3, ~0U, 0);
  auto directory = cli::MountDirectory(arguments.mount);
  if (!directory.ok()) return Fail(directory.status());
  auto place = fuse::CanonicalMountPoint(*directory);
  if (!place.ok()) return Fail(place.status());
  auto sources = cli::MountSources(arguments.mount);
  Status apart = CheckApart(*sources, *place);
  if (!apart.ok()) return Fail(apart);
  auto state = fuse::MountState::Claim(*place);
  if (!state.ok()) return Fail(state.status());
  if (!arguments.mount.foreground) return Daemonize(arguments, *std::move(state));
  Status status = Supervise(
      arguments, **state, [&] { spdlog::info("{} is mounted", (*state)->directory()); });
  return status.ok() ? 0 : Fail(status);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Forebay's mounts: a tree of files as a read-only directory.");
  cli::AddMountArguments(app, &arguments.mount);
  app.add_option("--serve-on", arguments.serve_on)->group("");
  app.add_option("--control", arguments.control)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(cli::ExitCode::kUsage);
  }
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  if (Status level = forebay::CheckLogLevel(); !level.ok()) return Fail(level);
  forebay::InitLog("forebay-mount", spdlog::level::info);
  auto options = ServeOptionsOf(arguments);  // before anything is started
  if (!options.ok()) return Fail(options.status());
  return arguments.serve_on >= 0 ? ServeMount(arguments) : MountNow(arguments);
}
