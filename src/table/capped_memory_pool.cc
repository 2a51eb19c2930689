#include "table/capped_memory_pool.h"

#include <fmt/format.h>

#include "base/size.h"

namespace forebay::table {

arrow::Status CappedMemoryPool::Reserve(int64_t bytes) {
  int64_t now = allocated_.fetch_add(bytes) + bytes;
  if (now > cap_bytes_) {
    Release(bytes);
    return arrow::Status::OutOfMemory(fmt::format(
        "the decoder's memory cap of {} is reached: {} in use, {} more asked for",
        FormatSize(static_cast<uint64_t>(cap_bytes_)),
        FormatSize(static_cast<uint64_t>(now - bytes)),
        FormatSize(static_cast<uint64_t>(bytes))));
  }
  int64_t peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
  total_ += bytes;
  return arrow::Status::OK();
}

arrow::Status CappedMemoryPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  ARROW_RETURN_NOT_OK(Reserve(size));
  arrow::Status status = backend_->Allocate(size, alignment, out);
  if (!status.ok()) Release(size);
  ++count_;
  return status;
}

arrow::Status CappedMemoryPool::Reallocate(int64_t old_size, int64_t new_size,
                                           int64_t alignment, uint8_t** ptr) {
  int64_t more = new_size - old_size;
  if (more > 0) ARROW_RETURN_NOT_OK(Reserve(more));
  arrow::Status status = backend_->Reallocate(old_size, new_size, alignment, ptr);
  if (status.ok() && more < 0) Release(-more);
  if (!status.ok() && more > 0) Release(more);
  ++count_;
  return status;
}

void CappedMemoryPool::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  backend_->Free(buffer, size, alignment);
  Release(size);
}

}  // namespace forebay::table
