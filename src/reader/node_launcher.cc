#include "reader/node_launcher.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "base/errno_status.h"
#include "base/hash.h"
#include "base/memory_limit.h"
#include "base/process_lock.h"
#include "model/store_spec.h"
#include "reader/cancel.h"
#include "wire/message.h"

extern char** environ;

namespace forebay::reader {
namespace {

constexpr const char* kHostSocket = "/run/forebay/node.sock";
constexpr milliseconds kLockPoll = milliseconds(5);
constexpr milliseconds kExitPoll = milliseconds(1);
constexpr int kStartsMax = 20;
constexpr milliseconds kStartPause = milliseconds(20);  // times the attempts so far
constexpr size_t kErrorTextMax = 4096;
// How long a node is waited for where there is no trace of one: the path may be wrong.
constexpr milliseconds kFirstNodeTime = std::chrono::seconds(30);

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Under the user's cache directory, which is ours to make, and half of what is free
// there: nobody chose this disk.
std::string DefaultStore() {
  std::string cache = Env("XDG_CACHE_HOME");
  if (cache.empty()) cache = Env("HOME").empty() ? "/tmp" : Env("HOME") + "/.cache";
  std::error_code ignored;  // then the node says what is missing
  std::filesystem::create_directories(cache + "/forebay", ignored);
  return "ssd:" + cache + "/forebay/store:50%";
}

bool Interrupted(const NodeOptions& options) {
  return CancelScope::Cancelled() || (options.interrupted && options.interrupted());
}

// Held while a node is started.
Result<ProcessLock> LockFor(const std::string& socket, const NodeOptions& options,
                            Deadline deadline) {
  for (;;) {
    FB_ASSIGN_OR_RETURN(auto lock, ProcessLock::Try(socket + ".start"));
    if (lock) return *std::move(lock);
    if (Interrupted(options)) return Status::Cancelled("the wait was interrupted");
    if (deadline.passed()) {
      return Status::Deadline("another process is starting the node and does not finish");
    }
    std::this_thread::sleep_for(kLockPoll);
  }
}

// What a program says on its way up.
class ErrorText {
 public:
  explicit ErrorText(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  // Takes what comes within `patience`, and what is there then.
  void Read(milliseconds patience) {
    while (ReadOnce(patience)) patience = milliseconds(0);
  }

  std::string Take() {
    while (!text_.empty() && text_.back() == '\n') text_.pop_back();
    return text_.empty() ? "it said nothing" : std::move(text_);
  }

 private:
  // False if nothing came. What is too much is dropped.
  bool ReadOnce(milliseconds patience) {
    pollfd waiting{pipe_.get(), POLLIN, 0};
    // After the end of the pipe this only waits.
    nfds_t count = pipe_.valid() ? 1 : 0;
    if (::poll(&waiting, count, static_cast<int>(patience.count())) <= 0) return false;
    std::array<char, 512> buffer;
    ssize_t n = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (n == 0) pipe_.Reset();
    if (n <= 0) return false;
    size_t room = kErrorTextMax - std::min(kErrorTextMax, text_.size());
    text_.append(buffer.data(), std::min(room, static_cast<size_t>(n)));
    return true;
  }

  UniqueFd pipe_;
  std::string text_;
};

Result<pid_t> Spawn(const std::vector<std::string>& command, int error_fd) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, error_fd, 2);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, "start " + command[0]);
  return pid;
}

// Runs the command until it exits: forebay-node --daemon does as soon as its child
// listens. Its end is its exit and not the end of its stderr: a process that another
// thread forks meanwhile keeps the pipe open for as long as it lives.
Status RunLauncher(const std::vector<std::string>& command, const NodeOptions& options,
                   Deadline deadline) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
  ErrorText said{UniqueFd(ends[0])};
  UniqueFd write_end(ends[1]);
  FB_ASSIGN_OR_RETURN(pid_t pid, Spawn(command, write_end.get()));
  write_end.Reset();
  int code = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid, &code, WNOHANG)) == 0) {
    if (Interrupted(options)) return Status::Cancelled("the wait was interrupted");
    if (deadline.passed()) return Status::Deadline("the node did not start in time");
    said.Read(kExitPoll);
  }
  // Somebody else may have reaped it (a handler for SIGCHLD): then the connection
  // decides.
  if (ended != pid || code == 0) return Status::OK();
  said.Read(milliseconds(0));
  int exit_code = WIFEXITED(code) ? WEXITSTATUS(code) : 0;
  bool known = exit_code > 0 && exit_code <= static_cast<int>(StatusCode::kInternal);
  return {known ? static_cast<StatusCode>(exit_code) : StatusCode::kUnavailable,
          "the node did not start: " + said.Take()};
}

bool NobodyThere(const Status& status) {
  return status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kUnavailable;
}

Result<wire::Channel> StartPrivate(const NodeOptions& options, const std::string& store,
                                   const std::string& socket, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(ProcessLock lock, LockFor(socket, options, deadline));
  for (int attempt = 1;; ++attempt) {
    auto channel = wire::Channel::Connect(socket);  // somebody else was first
    if (channel.ok() || !NobodyThere(channel.status())) return channel;
    FB_ASSIGN_OR_RETURN(std::string binary, FindNodeBinary(options));
    Status started =
        RunLauncher({binary, "--daemon", "--store", store, "--socket", socket,
                     "--idle-ms", std::to_string(options.idle_timeout.count())},
                    options, deadline);
    if (started.ok()) channel = wire::Channel::Connect(socket);
    // A node that died before it could be reached was killed: the next one may live.
    bool killed = started.ok() ? !channel.ok() && NobodyThere(channel.status())
                               : started.code() == StatusCode::kUnavailable;
    // So may the next one after a node that is just leaving: it holds its lock until all
    // its memory is freed.
    if (killed && attempt < kStartsMax && !deadline.passed()) {
      std::this_thread::sleep_for(kStartPause * attempt);
      continue;
    }
    if (!started.ok()) return started;
    return channel;
  }
}

std::string DirectoryOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

Result<std::string> ResolveStore(const NodeOptions& options) {
  std::string text = options.store;
  if (text.empty()) text = Env("FOREBAY_STORE");
  if (text.empty()) text = DefaultStore();
  FB_ASSIGN_OR_RETURN(auto tiers, model::ParseStoreSpec(text));
  return model::FormatStoreSpec(tiers);
}

std::vector<std::string> StoreWarnings(const NodeOptions& options) {
  if (!options.socket.empty() || !Env("FOREBAY_NODE").empty()) return {};
  auto store = ResolveStore(options);
  if (!store.ok()) return {};
  auto tiers = model::ParseStoreSpec(*store);
  if (!tiers.ok()) return {};
  return model::StoreWarnings(*tiers, MemoryLimit());
}

Result<std::string> RuntimeDirectory() {
  std::string base = Env("XDG_RUNTIME_DIR");
  std::string path =
      base.empty() ? fmt::format("/tmp/forebay-{}", ::geteuid()) : base + "/forebay";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "make the directory for node sockets " + path);
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "look at " + path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 0077) != 0) {
    return Status::Permission(fmt::format(
        "{} must be a directory of yours that nobody else can open; remove it or set "
        "XDG_RUNTIME_DIR",
        path));
  }
  return path;
}

Result<std::string> PrivateSocket(const std::string& store) {
  FB_ASSIGN_OR_RETURN(std::string directory, RuntimeDirectory());
  return fmt::format("{}/{:016x}-{}.sock", directory, HashBytes(store).low,
                     wire::kProtocolVersion);
}

Result<std::string> FindNodeBinary(const NodeOptions& options) {
  std::vector<std::string> places;
  if (!options.node_binary.empty()) places.push_back(options.node_binary);
  if (places.empty()) {
    if (std::string given = Env("FOREBAY_NODE_BINARY"); !given.empty()) {
      places.push_back(given);
    }
    Dl_info self{};
    if (::dladdr(reinterpret_cast<void*>(&FindNodeBinary), &self) != 0) {
      std::string here = DirectoryOf(self.dli_fname);
      places.push_back(here + "/bin/forebay-node");
      places.push_back(here + "/forebay-node");
    }
    std::error_code error;
    auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) places.push_back(DirectoryOf(program.string()) + "/forebay-node");
  }
  for (const std::string& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return Status::NotFound(
      "the program forebay-node was not found; set FOREBAY_NODE_BINARY to its path");
}

std::string GivenSocket(const NodeOptions& options) {
  return options.socket.empty() ? Env("FOREBAY_NODE") : options.socket;
}

Deadline PatienceFor(const NodeOptions& options, Deadline deadline) {
  std::string given = GivenSocket(options);
  if (given.empty() || !options.await_named) return Deadline::After(milliseconds(0));
  bool was_there = ::access(given.c_str(), F_OK) == 0 ||
                   ::access((given + ".lock").c_str(), F_OK) == 0;
  if (was_there) return deadline;
  return Deadline::After(std::min(kFirstNodeTime, deadline.Remaining()));
}

Result<wire::Channel> ConnectToNode(const NodeOptions& options, Deadline deadline) {
  std::string given = GivenSocket(options);
  if (!given.empty()) {
    auto channel = wire::Channel::Connect(given);
    if (channel.ok() || !NobodyThere(channel.status())) return channel;
    return Status::Unavailable(fmt::format(
        "no node answers at {}: check that it runs and that the path is right "
        "({})",
        given, channel.status().message()));
  }
  if (options.store.empty() && Env("FOREBAY_STORE").empty()) {
    auto host = wire::Channel::Connect(kHostSocket);
    if (host.ok()) return host;
  }
  FB_ASSIGN_OR_RETURN(std::string store, ResolveStore(options));
  FB_ASSIGN_OR_RETURN(std::string socket, PrivateSocket(store));
  auto running = wire::Channel::Connect(socket);
  if (running.ok() || !NobodyThere(running.status())) return running;
  return StartPrivate(options, store, socket, deadline);
}

}  // namespace forebay::reader
