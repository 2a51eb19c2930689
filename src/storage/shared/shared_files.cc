#include "storage/shared/shared_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/errno_status.h"
#include "base/unique_fd.h"

namespace forebay::storage {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

Result<std::vector<std::string>> ListFolder(const std::string& path) {
  std::unique_ptr<DIR, CloseDir> dir(::opendir(path.c_str()));
  if (dir == nullptr) return ErrnoStatus(errno, "list " + path);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0) return ErrnoStatus(errno, "list " + path);
    if (entry == nullptr) return names;
    std::string name = entry->d_name;
    // An NFS client's names for files that are still open.
    if (name != "." && name != ".." && !name.starts_with(".nfs")) {
      names.push_back(std::move(name));
    }
  }
}

Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return Status::OK();
  return ErrnoStatus(errno, "make the folder " + path);
}

Status WriteSmallFile(const std::string& path, const std::string& text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
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

int64_t ModifiedNanos(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return 0;
  return st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec;
}

Result<int64_t> ServerNanos(const std::string& folder) {
  std::string probe = folder + "/" + UniqueName();
  FB_RETURN_NOT_OK(WriteSmallFile(probe, "now"));
  int64_t now = ModifiedNanos(probe);
  ::unlink(probe.c_str());
  if (now == 0) return Status::Unavailable("the file system forgot " + probe);
  return now;
}

void TouchNow(const std::string& path) {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace forebay::storage
