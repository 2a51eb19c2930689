#include "storage/tier.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_status.h"
#include "base/huge_pages.h"
#include "storage/file_io.h"

namespace forebay::storage {
namespace {

// Large enough that the disk works in long stretches, small enough that little is left to
// wait for when the draft is complete.
constexpr uint64_t kWriteOutBytes = 4 * kMiB;

}  // namespace

Draft::Draft(Draft&& other) noexcept
    : options_(std::move(other.options_)),
      size_(other.size_),
      prepared_bytes_(other.prepared_bytes_),
      written_out_(other.written_out_) {
  other.options_.temp_path.clear();
}

Draft& Draft::operator=(Draft&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  options_ = std::move(other.options_);
  other.options_.temp_path.clear();
  size_ = other.size_;
  prepared_bytes_ = other.prepared_bytes_;
  written_out_ = other.written_out_;
  return *this;
}

void Draft::PrepareMemory(uint64_t size) {
  if (size < kHugePageBytes) return;
  prepared_bytes_ = size;
  (void)PrepareHugePages(fd(), size);
}

Status Draft::CutToSize() {
  if (prepared_bytes_ <= size_) return Status::OK();
  if (ftruncate(fd(), static_cast<off_t>(size_)) == 0) return Status::OK();
  return ErrnoStatus(errno, "give back memory of a chunk");
}

Status Draft::Append(const void* data, size_t size) {
  FB_RETURN_NOT_OK(WriteAll(fd(), data, size));
  size_ += size;
  if (options_.early_write_out && size_ - written_out_ >= kWriteOutBytes) {
    // Only a head start for the fsync to come; its failure would show there.
    (void)sync_file_range(fd(), static_cast<off_t>(written_out_),
                          static_cast<off_t>(size_ - written_out_),
                          SYNC_FILE_RANGE_WRITE);
    written_out_ = size_;
  }
  return Status::OK();
}

void Draft::Discard() {
  if (!options_.temp_path.empty()) (void)unlink(options_.temp_path.c_str());
  options_.temp_path.clear();
}

}  // namespace forebay::storage
