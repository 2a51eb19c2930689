#include "storage/shared/shared_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/errno_status.h"
#include "base/unique_fd.h"
#include "storage/file_io.h"

namespace forebay::storage {
Result<std::vector<std::string>> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  FB_RETURN_NOT_OK(ForEachEntry(path, [&](std::string_view name, EntryType) {
    // An NFS client's names for files that are still open.
    if (!name.starts_with(".nfs")) names.emplace_back(name);
  }));
  return names;
}

Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return Status::OK();
  return ErrnoStatus(errno, "make the folder " + path);
}

Status WriteSmallFile(const std::string& path, const std::string& text) {
  // Not O_EXCL: a server that does a request twice would say that it is there.
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return ErrnoStatus(errno, "make " + path);
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
