#include "storage/file_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/errno_status.h"
#include "base/size.h"

namespace forebay::storage {
namespace {

constexpr size_t kReadBytes = kMiB;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

EntryType TypeOf(int directory, const dirent& entry) {
  if (entry.d_type == DT_REG) return EntryType::kFile;
  if (entry.d_type == DT_DIR) return EntryType::kDirectory;
  if (entry.d_type != DT_UNKNOWN) return EntryType::kOther;
  struct stat info;
  if (fstatat(directory, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return EntryType::kOther;
  }
  if (S_ISREG(info.st_mode)) return EntryType::kFile;
  return S_ISDIR(info.st_mode) ? EntryType::kDirectory : EntryType::kOther;
}

}  // namespace

Status WriteAll(int fd, const void* data, size_t size) {
  const char* rest = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = write(fd, rest, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write a chunk");
    }
    rest += written;
    size -= static_cast<size_t>(written);
  }
  return Status::OK();
}

Result<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, "open " + path);
  return fd;
}

Result<uint64_t> FileSize(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "stat a chunk");
  return static_cast<uint64_t>(info.st_size);
}

Status ReadThrough(int fd, const std::function<Status(const char*, size_t)>& take) {
  auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
  for (off_t at = 0;;) {
    ssize_t got = pread(fd, buffer.get(), kReadBytes, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read a chunk");
    if (got == 0) return Status::OK();
    FB_RETURN_NOT_OK(take(buffer.get(), static_cast<size_t>(got)));
    at += got;
  }
}

Result<Hash128> HashFile(int fd, uint64_t size, uint64_t seed) {
  Hasher hasher(seed);
  uint64_t seen = 0;
  FB_RETURN_NOT_OK(ReadThrough(fd, [&](const char* data, size_t count) {
    hasher.Update(data, count);
    seen += count;
    return seen <= size ? Status::OK() : Status::Corrupt("the file is too long");
  }));
  if (seen != size) return Status::Corrupt("the file is too short");
  return hasher.Digest();
}

Status SyncDirectory(const std::string& path) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY | O_DIRECTORY));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "fsync " + path);
  return Status::OK();
}

Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return Status::OK();
  int error = errno;
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(error, "make directory " + path);
  if (S_ISDIR(info.st_mode)) return Status::OK();
  return Status::Invalid(path + " is a file, not a directory; name another one");
}

Status MakeDirectories(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != path.npos;
       slash = path.find('/', slash + 1)) {
    FB_RETURN_NOT_OK(MakeDirectory(path.substr(0, slash)));
  }
  return MakeDirectory(path);
}

int64_t ModifiedNanos(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return 0;
  return info.st_mtim.tv_sec * kNanosPerSecond + info.st_mtim.tv_nsec;
}

void SetModified(int fd, int64_t wall_ns) {
  timespec when{.tv_sec = wall_ns / kNanosPerSecond,
                .tv_nsec = wall_ns % kNanosPerSecond};
  timespec times[2] = {when, when};
  // Only recency is lost where the file system forbids it.
  (void)futimens(fd, times);
}

Status ForEachEntry(const std::string& path,
                    const std::function<void(std::string_view, EntryType)>& each) {
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory) return ErrnoStatus(errno, "list " + path);
  errno = 0;
  while (dirent* entry = readdir(directory.get())) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") each(name, TypeOf(dirfd(directory.get()), *entry));
    errno = 0;
  }
  if (errno != 0) return ErrnoStatus(errno, "list " + path);
  return Status::OK();
}

}  // namespace forebay::storage
