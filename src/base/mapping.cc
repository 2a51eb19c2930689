#include "base/mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_status.h"
#include "base/huge_pages.h"

namespace forebay {

Result<std::shared_ptr<const Mapping>> Mapping::Map(int fd, size_t size, Mode mode) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, "look at a file to map");
  // Touching a page past the end would be SIGBUS, not an error.
  if (info.st_size < 0 || static_cast<size_t>(info.st_size) < size) {
    return Status::Corrupt("a file to map is shorter than it should be");
  }
  if (size == 0) return std::shared_ptr<const Mapping>(new Mapping(nullptr, 0));
  if (mode == Mode::kCopy) return Copy(fd, size);
  bool shared = mode == Mode::kShared;
  int protection = shared ? PROT_READ : PROT_READ | PROT_WRITE;
  int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  void* data =
      MapForHugePages({.fd = fd, .size = size, .protection = protection, .flags = flags});
  if (data == MAP_FAILED) return ErrnoStatus(errno, "map a file");
  return std::shared_ptr<const Mapping>(new Mapping(static_cast<std::byte*>(data), size));
}

Result<std::shared_ptr<const Mapping>> Mapping::Copy(int fd, size_t size) {
  void* data = MapForHugePages({.fd = -1,
                                .size = size,
                                .protection = PROT_READ | PROT_WRITE,
                                .flags = MAP_PRIVATE | MAP_ANONYMOUS});
  if (data == MAP_FAILED) return ErrnoStatus(errno, "get memory for a copy of a file");
  std::shared_ptr<const Mapping> copy(new Mapping(static_cast<std::byte*>(data), size));
  for (size_t done = 0; done < size;) {
    ssize_t n = ::pread(fd, copy->data_ + done, size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "copy a file to memory");
    if (n == 0) return Status::Corrupt("a file to copy is shorter than it should be");
    done += static_cast<size_t>(n);
  }
  return copy;
}

Mapping::~Mapping() {
  if (size_ > 0) ::munmap(data_, size_);
}

}  // namespace forebay
