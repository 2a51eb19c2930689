#include "node/row_sink.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_status.h"
#include "base/huge_pages.h"

namespace forebay::node {
namespace {

constexpr uint64_t kPartBytesMax = uint64_t{1} << 30;
// What is made ready on a peer's word alone; the rest as it arrives.
constexpr uint64_t kPreparedBytesMax = uint64_t{32} << 20;

}  // namespace

RowSink::~RowSink() {
  if (budgeted_ > 0) limits_.budget->Give(budgeted_);
}

UniqueFd RowSink::TakeFd() {
  budgeted_ = 0;
  return std::move(fd_);
}

Status RowSink::Open(const Chunk& chunk) {
  if (fd_.valid() || chunk.size > limits_.bytes) {
    return Status::Corrupt("a peer sent other rows than it was asked for");
  }
  bool room = chunk.size <= kPartBytesMax &&
              (limits_.budget == nullptr || limits_.budget->Take(chunk.size));
  if (!room) return Status::Full("a peer sends more rows than are held in memory");
  if (limits_.budget != nullptr) budgeted_ = chunk.size;
  fd_ = UniqueFd(::memfd_create("forebay-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_.valid()) return ErrnoStatus(errno, "make a memory file for rows");
  size_ = chunk.size;
  checksum_ = chunk.checksum;
  PrepareHugePages(fd_.get(), std::min(size_, kPreparedBytesMax));
  return Status::OK();
}

Status RowSink::Take(const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  hasher_.Update(data, size);
  while (size > 0) {
    ssize_t n = ::pwrite(fd_.get(), from, size, static_cast<off_t>(written_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "keep rows in memory");
    from += n;
    size -= static_cast<size_t>(n);
    written_ += static_cast<uint64_t>(n);
  }
  return Status::OK();
}

Status RowSink::Close() {
  if (written_ != size_) return Status::Corrupt("a peer sent fewer rows than it said");
  if (hasher_.Digest() != checksum_) {
    return Status::Corrupt("rows were damaged on their way from a peer");
  }
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0 ||
      ::fcntl(fd_.get(), F_ADD_SEALS, kSeals) != 0) {
    return ErrnoStatus(errno, "seal rows in memory");
  }
  return Status::OK();
}

}  // namespace forebay::node
