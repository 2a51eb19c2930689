#include "cli/files/copy_out.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/errno_status.h"

namespace forebay::cli {
namespace {

constexpr uint64_t kPieceBytes = 64 * kMiB;

// Shares the blocks of the chunk; not possible on most file systems, and only for whole
// blocks but at the end of a file.
bool ShareBlocks(const reader::FileDescriptor& from, int to, uint64_t at) {
  file_clone_range range{.src_fd = from.fd.get(),
                         .src_offset = from.offset,
                         .src_length = from.size,
                         .dest_offset = at};
  return ::ioctl(to, FICLONERANGE, &range) == 0;
}

Status CopyPieces(const reader::FileDescriptor& from, int to, uint64_t at) {
  auto source = static_cast<off64_t>(from.offset);
  auto target = static_cast<off64_t>(at);
  uint64_t left = from.size;
  while (left > 0) {
    ssize_t n = ::copy_file_range(from.fd.get(), &source, to, &target,
                                  std::min(left, kPieceBytes), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "copy a chunk");
    if (n == 0) return Status::Corrupt("a chunk of the store is too short");
    left -= static_cast<uint64_t>(n);
  }
  return Status::OK();
}

// Between file systems an old kernel cannot copy by itself.
Status CopyByHand(reader::RemoteFiles& files, uint32_t file, int to, uint64_t* at) {
  FB_ASSIGN_OR_RETURN(reader::FileBytes piece, files.At(file, *at));
  if (::lseek64(to, static_cast<off64_t>(*at), SEEK_SET) < 0) {
    return ErrnoStatus(errno, "write a file");
  }
  FB_RETURN_NOT_OK(WriteAll(to, piece.bytes, "a file"));
  *at += piece.bytes.size();
  return Status::OK();
}

}  // namespace

Status SetFileTime(int fd, int64_t mtime_ns, const std::string& name) {
  if (mtime_ns == 0) return Status::OK();
  timespec time{.tv_sec = mtime_ns / 1'000'000'000, .tv_nsec = mtime_ns % 1'000'000'000};
  timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, time};
  if (::futimens(fd, times) == 0) return Status::OK();
  return ErrnoStatus(errno, "set the time of " + name);
}

Status WriteAll(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write " + name);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Status::OK();
}

Status CopyFile(const std::string& path, int to) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "open " + path);
  if (::ioctl(to, FICLONE, fd.get()) == 0) return Status::OK();
  std::vector<char> buffer(4 * kMiB);
  for (;;) {
    ssize_t n = ::copy_file_range(fd.get(), nullptr, to, nullptr, kPieceBytes, 0);
    if (n > 0) continue;
    if (n == 0) return Status::OK();
    // Between file systems of two kinds the kernel does not copy.
    n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    if (n == 0) return Status::OK();
    FB_RETURN_NOT_OK(WriteAll(to, {buffer.data(), static_cast<size_t>(n)}, "a copy"));
  }
}

Status CopyOut(reader::RemoteFiles& files, uint32_t file, int to) {
  const model::FileRecord& record = files.manifest()->files()[file];
  auto size = static_cast<uint64_t>(record.size);
  for (uint64_t at = 0; at < size;) {
    if (record.pack != model::kNoPack) {
      FB_RETURN_NOT_OK(CopyByHand(files, file, to, &at));
      continue;
    }
    FB_ASSIGN_OR_RETURN(reader::FileDescriptor from, files.Descriptor(file, at));
    if (!ShareBlocks(from, to, at)) {
      Status copied = CopyPieces(from, to, at);
      if (!copied.ok()) {
        FB_RETURN_NOT_OK(CopyByHand(files, file, to, &at));
        continue;
      }
    }
    at += from.size;
  }
  return Status::OK();
}

}  // namespace forebay::cli
