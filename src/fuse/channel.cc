#include "fuse/channel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/errno_status.h"
#include "base/log.h"
#include "fuse/kernel_protocol.h"

namespace forebay::fuse {
namespace {

#ifndef MADV_POPULATE_READ
constexpr int MADV_POPULATE_READ = 22;
#endif

// Pages that are not in our tables are brought in now: when this process is killed while
// the kernel waits for one in the middle of a copy, the reader would get an error. Killed
// here, the request is sent again. False when the disk cannot read them.
bool BringIn(std::string_view bytes) {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<uintptr_t>(bytes.data()) & ~(page - 1);
  auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  if (::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ) == 0) {
    return true;
  }
  return errno == EINVAL;  // a kernel before 5.14
}

}  // namespace

Result<std::string_view> Channel::Receive(std::span<char> buffer) const {
  for (;;) {
    ssize_t n = ::read(fd_, buffer.data(), buffer.size());
    if (n >= static_cast<ssize_t>(sizeof(fuse_in_header))) {
      return std::string_view(buffer.data(), static_cast<size_t>(n));
    }
    if (n >= 0) return Status::Corrupt("the kernel sent a request that is too short");
    if (errno == ENODEV) return std::string_view();
    // ENOENT: the request was taken back while it was read.
    if (errno != EINTR && errno != EAGAIN && errno != ENOENT) {
      return ErrnoStatus(errno, "read a request of the kernel");
    }
  }
}

bool Channel::Write(uint64_t unique, int error, std::span<const iovec> parts) const {
  fuse_out_header header{.len = sizeof(header), .error = error, .unique = unique};
  std::array<iovec, 10> few;
  std::vector<iovec> many;
  iovec* all = few.data();
  if (parts.size() + 1 > few.size()) {
    many.resize(parts.size() + 1);
    all = many.data();
  }
  all[0] = {&header, sizeof(header)};
  for (size_t i = 0; i < parts.size(); ++i) {
    all[i + 1] = parts[i];
    header.len += static_cast<uint32_t>(parts[i].iov_len);
  }
  while (::writev(fd_, all, static_cast<int>(parts.size() + 1)) < 0) {
    if (errno == EINTR) continue;
    return false;
  }
  return true;
}

bool Channel::Fail(uint64_t unique, int error) const { return Write(unique, -error, {}); }

bool Channel::Answer(uint64_t unique, std::string_view bytes) const {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  return Write(unique, 0, {&part, bytes.empty() ? 0U : 1U});
}

bool Channel::Answer(uint64_t unique, const Pieces& pieces) const {
  std::vector<iovec> parts;
  parts.reserve(pieces.size());
  for (const FileBytes& piece : pieces) {
    if (!BringIn(piece.bytes)) {
      spdlog::error("bytes of a chunk cannot be read from its disk; reading fails");
      return Fail(unique, EIO);
    }
    parts.push_back({const_cast<char*>(piece.bytes.data()), piece.bytes.size()});
  }
  return Write(unique, 0, parts);
}

Status Channel::Notify(int32_t code, std::span<const iovec> parts) const {
  if (Write(0, code, parts)) return Status::OK();
  return ErrnoStatus(errno, "tell the kernel");
}

}  // namespace forebay::fuse
