#include "fuse/mount_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
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
    struct stat info {};
    bool dead = ::stat(directory.c_str(), &info) != 0 && errno == ENOTCONN;
    if (!dead) return AlreadyMounted(directory);
    FB_RETURN_NOT_OK(Unmount(directory, /*lazy=*/true));
  }
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
  FB_ASSIGN_OR_RETURN(std::string folder, MountStateFolder(directory));
  FB_RETURN_NOT_OK(MakeFolder(folder));
  UniqueFd lock(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return ErrnoStatus(errno, "open the lock of a mount in " + folder);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return AlreadyMounted(directory);
  FB_RETURN_NOT_OK(CleanDead(directory));
  std::ofstream(folder + "/directory") << directory << "\n";
  return std::unique_ptr<MountState>(
      new MountState(directory, std::move(folder), std::move(lock)));
}

MountState::~MountState() {
  if (!owned_) return;
  std::error_code ignored;
  for (const char* name : {"serving", "control", "directory", "lock"}) {
    std::filesystem::remove(folder_ + "/" + name, ignored);
  }
  std::filesystem::remove(folder_ + "/log", ignored);
  std::filesystem::remove(folder_, ignored);
}

Status MountState::WriteServing(pid_t pid) const {
  std::string path = folder_ + "/serving";
  std::ofstream(path + ".new") << pid << "\n";
  if (::rename((path + ".new").c_str(), path.c_str()) == 0) return Status::OK();
  return ErrnoStatus(errno, "write " + path);
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
  return lock.valid() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
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
