#include "fuse/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include "base/errno_status.h"
#include "base/log.h"
#include "fuse/mount_table.h"

extern char** environ;

namespace forebay::fuse {
namespace {

// Each has a queue of its own in the kernel and a thread in the serving process.
constexpr unsigned kChannelsMin = 4;
constexpr unsigned kChannelsMax = 16;
// Before a serving process is started that could not start the last time.
constexpr milliseconds kPauseMin = milliseconds(10);
constexpr milliseconds kPauseMax = milliseconds(1000);
constexpr int kFailedStartsMax = 3;

sigset_t OurSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&set, signal);
  return set;
}

Result<pid_t> Spawn(const std::vector<std::string>& command, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, Supervisor::kServingFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoStatus(error, "start " + command[0]);
  return pid;
}

// A mount goes on without it.
void Warn(const Status& status) {
  if (!status.ok()) spdlog::warn("{}", status.message());
}

}  // namespace

Status Supervisor::Run() {
  Status status = Supervise();
  // Nobody would answer. Once it was taken away the place is no longer ours.
  if (!status.ok() && fuse_.valid() && !leaving_) (void)TakeAway();
  if (!status.ok() && serving_ != 0) ::kill(serving_, SIGKILL);
  return status;
}

Status Supervisor::Supervise() {
  mounted_ns_ = Clock::Real().WallNanos();
  sigset_t set = OurSignals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoStatus(errno, "listen for signals");
  FB_RETURN_NOT_OK(Start());
  while (!over_) FB_RETURN_NOT_OK(serving_ != 0 ? WaitForServing() : WaitToStart());
  return Status::OK();
}

Status Supervisor::WaitForServing() {
  pollfd waiting[] = {{signals_.get(), POLLIN, 0}, {link_->fd(), POLLIN, 0}};
  if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return ErrnoStatus(errno, "wait");
  FB_RETURN_NOT_OK(ReadLetters());
  // A link that is closed is readable for ever; the death behind it is a signal.
  if ((waiting[1].revents & POLLHUP) != 0) (void)::poll(waiting, 1, -1);
  return OnSignal();
}

// Nobody serves: only we notice that the mount was taken away.
Status Supervisor::WaitToStart() {
  pollfd waiting[] = {{signals_.get(), POLLIN, 0}, {fuse_.get(), 0, 0}};
  auto pause = static_cast<int>(next_start_.Remaining().count());
  if (::poll(waiting, 2, pause) < 0 && errno != EINTR) return ErrnoStatus(errno, "wait");
  FB_RETURN_NOT_OK(OnSignal());
  over_ = IsOver(fuse_.get());
  if (!over_ && next_start_.passed()) Restart();
  return Status::OK();
}

Status Supervisor::ReadLetters() {
  for (;;) {
    auto letter = link_->TryReceive();
    if (!letter.ok()) {
      OnLostLetter(letter.status());
      return Status::OK();
    }
    if (!*letter) return Status::OK();
    FB_RETURN_NOT_OK(OnLetter(**std::move(letter)));
  }
}

// Whoever sent it may wait for an answer.
void Supervisor::OnLostLetter(const Status& why) {
  if (why.code() == StatusCode::kUnavailable) return;  // it died: that is a signal
  spdlog::error("a message of the serving process is lost: {}", why.message());
  // Only letters that are answered carry descriptors.
  Status told = why.code() == StatusCode::kFull
                    ? link_->Send({.say = Say::kDone, .flags = kFlagFull})
                    : why;
  if (!told.ok() && serving_ != 0) ::kill(serving_, SIGKILL);
}

Status Supervisor::Start() {
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   ends.data()) != 0) {
    return ErrnoStatus(errno, "make a pair of sockets");
  }
  link_ = std::make_unique<SupervisorLink>(UniqueFd(ends[0]));
  UniqueFd theirs(ends[1]);
  was_ready_ = false;
  serving_ = 0;
  std::vector<std::string> command = options_.command();
  // A program that was replaced by one that does not work here: ours still does.
  if (failed_starts_ >= kFailedStartsMax) command[0] = "/proc/self/exe";
  FB_ASSIGN_OR_RETURN(serving_, Spawn(command, theirs.get()));
  theirs.Reset();  // else what is sent to a dead process would wait for it
  if (options_.state != nullptr) Warn(options_.state->WriteServing(serving_));
  Status handed = HandOver();
  // It may be dead already. If it is not it shall be: its end will be told.
  if (!handed.ok() && handed.code() != StatusCode::kUnavailable) {
    Warn(handed);
    ::kill(serving_, SIGKILL);
  }
  return Status::OK();
}

Status Supervisor::HandOver() {
  for (const Version& version : versions_) {
    std::vector<int> fds;
    for (const UniqueFd& fd : version.fds) fds.push_back(fd.get());
    FB_RETURN_NOT_OK(link_->Send(version.message, fds));
  }
  if (!fuse_.valid()) return link_->Send({.say = Say::kOpen, .time_ns = mounted_ns_});
  return SendServe();
}

Status Supervisor::SendServe() {
  std::vector<int> fds;
  for (const UniqueFd& fd : channels_) fds.push_back(fd.get());
  uint32_t flags = agreement_.passthrough() ? kFlagPassthrough : 0;
  if (unsettled_) flags |= kFlagUnsettled;
  return link_->Send(
      {.say = Say::kServe, .flags = flags, .value = profile_, .time_ns = mounted_ns_},
      fds);
}

Status Supervisor::MountNow(int32_t profile) {
  profile_ = profile;
  FB_ASSIGN_OR_RETURN(fuse_, Mount(options_.mount));
  FB_ASSIGN_OR_RETURN(auto ours, MountAt(options_.mount.directory));
  if (ours) device_ = ours->device;
  auto agreed = Greet(fuse_.get(), ::geteuid() == 0);
  Status status = agreed.status();
  if (agreed.ok()) {
    agreement_ = *agreed;
    backing_.emplace(BackingTable::On(fuse_.get()));
    status = OpenChannels();
  }
  FB_RETURN_NOT_OK(status);
  RaiseReadAhead(options_.mount.directory);
  (void)SendServe();  // a process that died meanwhile is noticed by its end
  return Status::OK();
}

// The first descriptor is ours alone: where the kernel cannot send requests again, those
// of a dead process are given up by closing the clone that it took them from.
Status Supervisor::OpenChannels() {
  channels_.clear();
  unsigned count =
      std::clamp(2 * std::thread::hardware_concurrency(), kChannelsMin, kChannelsMax);
  for (unsigned i = 0; i < count; ++i) {
    auto clone = Clone(fuse_.get());
    if (clone.ok()) {
      channels_.push_back(*std::move(clone));
      continue;
    }
    // Without access to the device all threads share the one descriptor.
    UniqueFd same(::fcntl(fuse_.get(), F_DUPFD_CLOEXEC, 0));
    if (!same.valid()) return ErrnoStatus(errno, "duplicate a descriptor of the mount");
    channels_.push_back(std::move(same));
  }
  return Status::OK();
}

Status Supervisor::OnSignal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) {
      FB_RETURN_NOT_OK(OnDeath());
      continue;
    }
    if (!fuse_.valid() || leaving_) {
      return Status::Cancelled("ended by a signal");
    }
    leaving_ = true;  // the serving process ends with the last open file
    Warn(TakeAway());
  }
  return Status::OK();
}

// Something else may have been mounted over ours, or ours be gone from there already: the
// number of a device is nobody else's while the file system lives.
Status Supervisor::TakeAway() {
  const std::string& place = options_.mount.directory;
  FB_ASSIGN_OR_RETURN(auto top, MountAt(place));
  if (!top || IsOver(fuse_.get())) return Status::OK();
  if (top->device != device_) {
    return Status::Invalid("another file system is mounted at " + place +
                           ": it is left alone");
  }
  Status taken = Unmount(place, /*lazy=*/true);
  return taken.code() == StatusCode::kNotFound ? Status::OK() : taken;
}

Status Supervisor::OnDeath() {
  int how = 0;
  if (serving_ == 0 || ::waitpid(serving_, &how, WNOHANG) != serving_) {
    return Status::OK();
  }
  serving_ = 0;
  FB_RETURN_NOT_OK(ReadLetters());  // what it said last
  if (!fuse_.valid()) {
    return Status::Unavailable("the serving process died before anything was mounted");
  }
  if (IsOver(fuse_.get())) {
    over_ = true;
    return Status::OK();
  }
  if (WIFSIGNALED(how)) {
    spdlog::warn("the serving process was killed by signal {}; the next one starts",
                 WTERMSIG(how));
  } else {
    spdlog::warn("the serving process ended with code {}; the next one starts",
                 WEXITSTATUS(how));
  }
  StartLater(was_ready_ ? 0 : failed_starts_ + 1);
  return Status::OK();
}

void Supervisor::StartLater(int failed_starts) {
  failed_starts_ = std::min(failed_starts, 10);
  milliseconds pause = std::min(kPauseMin * (1 << failed_starts_), kPauseMax);
  next_start_ = Deadline::After(failed_starts_ > 0 ? pause : milliseconds(0));
}

void Supervisor::Restart() {
  Status status = agreement_.resend() ? Resend(fuse_.get()) : OpenChannels();
  if (status.ok()) status = Start();
  if (status.ok()) return;
  spdlog::error("{}; trying again", status.message());
  StartLater(failed_starts_ + 1);
}

Status Supervisor::OnLetter(Letter letter) {
  switch (letter.message.say) {
    case Say::kVersion: return OnVersion(std::move(letter));
    case Say::kOpened: return MountNow(letter.message.value);
    case Say::kFailed:
      return Status(static_cast<StatusCode>(letter.message.value), letter.text);
    case Say::kReady: was_ready_ = true; return TellReady();
    case Say::kSettled: unsettled_ = false; return Status::OK();
    case Say::kOpenBacking: return OnOpenBacking(letter);
    case Say::kCloseBacking:
      if (backing_) backing_->Close(letter.message.node, letter.message.handle);
      return Status::OK();
    default: return Status::Corrupt("the serving process said something unknown");
  }
}

Status Supervisor::TellReady() {
  if (told_ready_) return Status::OK();
  told_ready_ = true;
  if (options_.state != nullptr) Warn(options_.state->MarkMounted());
  if (options_.on_ready) options_.on_ready();
  return Status::OK();
}

// The serving process may die while it is answered; that is noticed elsewhere.
Status Supervisor::OnVersion(Letter letter) {
  unsettled_ = unsettled_ || letter.message.generation > 1;
  Message message = letter.message;
  message.time_ns = mounted_ns_;
  versions_.push_back({message, std::move(letter.fds)});
  (void)link_->Send({.say = Say::kDone});
  return Status::OK();
}

Status Supervisor::OnOpenBacking(const Letter& letter) {
  const Message& asked = letter.message;
  int value = 0;
  if (backing_ && asked.flags == 0) {
    value = backing_->Find(asked.node, asked.handle);
  } else if (backing_) {
    int fd = letter.fds.empty() ? -1 : letter.fds[0].get();
    value = backing_->Open(asked.node, asked.handle, fd);
  }
  (void)link_->Send({.say = Say::kDone, .value = value});
  return Status::OK();
}

}  // namespace forebay::fuse
