#include "fuse/mount_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/errno_status.h"
#include "base/hash.h"
#include "fuse/mount.h"
#include "fuse/mount_table.h"
#include "reader/node_launcher.h"
#include "wire/channel.h"

namespace forebay::fuse {
namespace {

constexpr milliseconds kPause = milliseconds(20);

// A lock of a description: it lives on in a child, and asking for it disturbs nobody.
flock64 WholeFile() {
  flock64 lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

Status AlreadyMounted(const std::string& directory) {
  return Status::Invalid(
      directory +
      " is mounted already: forebay umount it first, or choose another "
      "directory");
}

// Takes away the mount of a supervisor that died.
Status CleanDead(const std::string& directory) {
  for (;;) {
    FB_ASSIGN_OR_RETURN(std::optional<MountEntry> entry, MountAt(directory));
    if (!entry || entry->type != kFilesystemType) return Status::OK();
    // What the kernel remembers of it would hide that nobody answers.
    struct statx info {};
    bool dead = ::statx(AT_FDCWD, directory.c_str(), AT_STATX_FORCE_SYNC,
                        STATX_BASIC_STATS, &info) != 0 &&
                errno == ENOTCONN;
    if (!dead) return AlreadyMounted(directory);
    FB_RETURN_NOT_OK(Unmount(directory, /*lazy=*/true));
  }
}

// A mount that lives and is not here: somebody has files of it open, or another namespace
// has it. It goes on under another name.
Status MoveAside(const std::string& directory, const std::string& path) {
  FB_ASSIGN_OR_RETURN(std::optional<MountEntry> entry, MountAt(directory));
  bool here = entry && entry->type == kFilesystemType;
  bool begins = ::access((path + "/mounted").c_str(), F_OK) != 0;
  if (here || begins) return AlreadyMounted(directory);
  std::string aside = fmt::format("{}.{}", path, Clock::Real().WallNanos());
  if (::rename(path.c_str(), aside.c_str()) == 0) return Status::OK();
  return ErrnoStatus(errno, "move the folder of an earlier mount");
}

Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return Status::OK();
  return ErrnoStatus(errno, "make the folder " + path);
}

}  // namespace

Result<std::string> MountStateFolder(const std::string& directory) {
  FB_ASSIGN_OR_RETURN(std::string runtime, reader::RuntimeDirectory());
  FB_RETURN_NOT_OK(MakeFolder(runtime + "/mounts"));
  return fmt::format("{}/mounts/{:016x}", runtime, HashBytes(directory).low);
}

Result<std::unique_ptr<MountState>> MountState::Claim(const std::string& directory) {
  FB_ASSIGN_OR_RETURN(std::string path, MountStateFolder(directory));
  for (;;) {
    FB_RETURN_NOT_OK(MakeFolder(path));
    UniqueFd folder(::open(path.c_str(), O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid() && errno == ENOENT) continue;  // just taken away
    UniqueFd lock(::openat(folder.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.valid() && errno == ENOENT) continue;
    if (!lock.valid()) return ErrnoStatus(errno, "open the lock of a mount in " + path);
    flock64 whole = WholeFile();
    if (::fcntl(lock.get(), F_OFD_SETLK, &whole) != 0) {
      FB_RETURN_NOT_OK(MoveAside(directory, path));
      continue;
    }
    // Whoever held it before may have taken the folder away meanwhile.
    struct stat info {};
    if (::fstat(lock.get(), &info) != 0 || info.st_nlink == 0) continue;
    FB_RETURN_NOT_OK(CleanDead(directory));
    ::unlinkat(folder.get(), "mounted", 0);
    auto state = std::unique_ptr<MountState>(
        new MountState(directory, std::move(folder), std::move(lock)));
    FB_RETURN_NOT_OK(state->Write("directory", directory));
    return state;
  }
}

MountState::~MountState() {
  if (!owned_) return;
  std::string path = folder();
  for (const char* name : {"serving", "control", "directory", "mounted", "log", "lock",
                           "serving.new", "directory.new", "mounted.new"}) {
    ::unlinkat(folder_.get(), name, 0);
  }
  ::rmdir(path.c_str());
}

std::string MountState::folder() const {
  std::error_code ignored;
  return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", folder_.get()),
                                       ignored)
      .string();
}

Status MountState::Write(const std::string& name, const std::string& text) const {
  std::string fresh = name + ".new";
  std::string line = text + "\n";
  int at = folder_.get();
  UniqueFd file(
      ::openat(at, fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  bool written = file.valid() && ::write(file.get(), line.data(), line.size()) ==
                                     static_cast<ssize_t>(line.size());
  if (written && ::renameat(at, fresh.c_str(), at, name.c_str()) == 0) {
    return Status::OK();
  }
  return ErrnoStatus(errno, "write " + folder() + "/" + name);
}

Status MountState::WriteServing(pid_t pid) const {
  return Write("serving", std::to_string(pid));
}

Result<pid_t> ServingPid(const std::string& directory) {
  FB_ASSIGN_OR_RETURN(std::string folder, MountStateFolder(directory));
  std::ifstream file(folder + "/serving");
  pid_t pid = 0;
  if (!(file >> pid) || !IsSupervised(directory)) {
    return Status::NotFound("no mount of yours is at " + directory);
  }
  return pid;
}

bool IsSupervised(const std::string& directory) {
  auto folder = MountStateFolder(directory);
  if (!folder.ok()) return false;
  UniqueFd lock(::open((*folder + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  flock64 held = WholeFile();
  return lock.valid() && ::fcntl(lock.get(), F_OFD_GETLK, &held) == 0 &&
         held.l_type != F_UNLCK;
}

Result<std::string> AskMount(const std::string& directory, const std::string& request,
                             milliseconds timeout) {
  FB_ASSIGN_OR_RETURN(std::string folder, MountStateFolder(directory));
  Deadline deadline = Deadline::After(timeout);
  for (;;) {
    if (!IsSupervised(directory)) {
      return Status::NotFound("no mount of yours is at " + directory);
    }
    Status status;
    if (auto channel = wire::Channel::Connect(folder + "/control"); channel.ok()) {
      status = channel->Send(request, {}, deadline);
      if (status.ok()) {
        auto answer = channel->Receive(deadline);
        // One byte of status, then words.
        if (answer.ok()) {
          auto code = static_cast<StatusCode>(answer->bytes[0]);
          std::string text = answer->bytes.substr(1);
          if (code == StatusCode::kOk) return text;
          return Status(code, text);
        }
        status = answer.status();
      }
    } else {
      status = channel.status();
    }
    if (status.code() == StatusCode::kDeadline || deadline.passed()) return status;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace forebay::fuse
