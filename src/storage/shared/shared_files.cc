#include "storage/shared/shared_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/errno_status.h"
#include "base/remote_file_system.h"
#include "base/unique_fd.h"
#include "storage/file_io.h"

namespace forebay::storage {
namespace {

mode_t ModeAbove(const std::string& path) {
  std::string above = std::filesystem::path(path).parent_path().string();
  struct stat st {};
  return ::stat(above.empty() ? "." : above.c_str(), &st) == 0 ? st.st_mode : 0700;
}

}  // namespace

Result<std::vector<std::string>> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  FB_RETURN_NOT_OK(ForEachEntry(path, [&](std::string_view name, EntryType) {
    // An NFS client's names for files that are still open.
    if (!name.starts_with(".nfs")) names.emplace_back(name);
  }));
  return names;
}

Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) {
    (void)::chmod(path.c_str(), ModeAbove(path) & (S_ISGID | 0777));
    return Status::OK();
  }
  if (errno == EEXIST) return Status::OK();
  return ErrnoStatus(errno, "make the folder " + path);
}

void ShareLikeFolder(int fd, const std::string& path) {
  (void)::fchmod(fd, ModeAbove(path) & 0666);  // fails for files of others
}

Result<SharedRoom> RoomOf(const std::string& path) {
  struct statvfs st {};
  if (::statvfs(path.c_str(), &st) != 0) return ErrnoStatus(errno, "look at " + path);
  return SharedRoom{.free_bytes = st.f_bavail * st.f_frsize,
                    .total_bytes = st.f_blocks * st.f_frsize};
}

// Nobody is given a lease for writing on a file that others have open or mapped. File
// servers give out none at all.
bool IsOpenHere(const std::string& path) {
  if (RemoteFileSystemOf(path) != nullptr) return false;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // Who opens it while we have the lease makes the kernel send a signal: one that is
  // ignored.
  if (!fd.valid() || ::fcntl(fd.get(), F_SETSIG, SIGURG) != 0) return false;
  if (::fcntl(fd.get(), F_SETLEASE, F_WRLCK) != 0) return errno == EAGAIN;
  (void)::fcntl(fd.get(), F_SETLEASE, F_UNLCK);
  return false;
}

Status WriteSmallFile(const std::string& path, const std::string& text) {
  // Not O_EXCL: a server that does a request twice would say that it is there.
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return ErrnoStatus(errno, "make " + path);
  ShareLikeFolder(fd.get(), path);
  if (::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return Status::OK();
  }
  return ErrnoStatus(errno, "write " + path);
}

void RemoveTree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string UniqueName() {
  uint64_t random[2] = {};
  if (::getrandom(random, sizeof(random), 0) != sizeof(random)) {
    random[0] = static_cast<uint64_t>(::getpid());
  }
  return fmt::format("{:016x}{:016x}-{}", random[0], random[1], ::getpid());
}

Result<int64_t> ServerNanos(const std::string& folder) {
  FB_RETURN_NOT_OK(TouchNow(folder));
  int64_t now = ModifiedNanos(folder);
  if (now == 0) return Status::Unavailable("the file system forgot " + folder);
  return now;
}

Status TouchNow(const std::string& path) {
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0) {
    return Status::OK();
  }
  return ErrnoStatus(errno, "set the time of " + path);
}

}  // namespace forebay::storage
