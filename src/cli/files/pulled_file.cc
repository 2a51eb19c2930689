#include "cli/files/pulled_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/clock.h"
#include "base/errno_status.h"
#include "base/unique_fd.h"
#include "cli/files/copy_out.h"

namespace forebay::cli {
namespace {

constexpr const char* kObject = "user.forebay.object";

// Of the object, and of the time the copy was given: an edit changes that.
std::string Mark(const model::FilesManifest& manifest, const struct stat& st) {
  return fmt::format("{} {} {}.{}",
                     manifest.object(0).ContentHash(manifest.origin()).ToHex(),
                     st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

// Files on systems without attributes are copied anew by each pull.
void SetMark(int fd, const model::FilesManifest& manifest) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return;
  std::string mark = Mark(manifest, st);
  (void)::fsetxattr(fd, kObject, mark.data(), mark.size(), 0);
}

}  // namespace

bool IsCopyOf(const reader::RemoteFiles& files, const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  char mark[256];
  ssize_t size = ::lgetxattr(path.c_str(), kObject, mark, sizeof(mark));
  return size > 0 &&
         std::string_view(mark, static_cast<size_t>(size)) == Mark(*files.manifest(), st);
}

Status CopyOne(const reader::RemoteFiles& files, const std::string& path,
               const std::function<Status(int fd)>& write) {
  const model::FilesManifest& manifest = *files.manifest();
  std::string temp =
      fmt::format("{}.forebay-{}-{}", path, ::getpid(), Clock::Real().WallNanos());
  UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid() && errno == ENOENT) {
    return Status::NotFound("there is no folder for " + path + ": make it first");
  }
  if (!fd.valid()) return ErrnoStatus(errno, "make " + path);
  Status status = write(fd.get());
  if (status.ok()) status = SetFileTime(fd.get(), manifest.files()[0].mtime_ns, path);
  if (status.ok()) SetMark(fd.get(), manifest);
  if (status.ok() && ::rename(temp.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "write " + path);
  }
  if (!status.ok()) ::unlink(temp.c_str());
  return status;
}

}  // namespace forebay::cli
