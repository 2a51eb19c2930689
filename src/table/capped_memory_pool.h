// An Arrow memory pool with a limit of its own.
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace forebay::table {

// Allocations past the cap fail with OutOfMemory (kFull here). Counts only what went
// through it, so several caps may share one backend. Thread-safe; outlives its buffers.
class CappedMemoryPool : public arrow::MemoryPool {
 public:
  explicit CappedMemoryPool(int64_t cap_bytes,
                            arrow::MemoryPool* backend = arrow::default_memory_pool())
      : cap_bytes_(cap_bytes), backend_(backend) {}

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;

  void ReleaseUnused() override { backend_->ReleaseUnused(); }
  int64_t bytes_allocated() const override { return allocated_; }
  int64_t max_memory() const override { return peak_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return backend_->backend_name(); }
  int64_t cap_bytes() const { return cap_bytes_; }

 private:
  arrow::Status Reserve(int64_t bytes);
  void Release(int64_t bytes) { allocated_ -= bytes; }

  const int64_t cap_bytes_;
  arrow::MemoryPool* const backend_;
  std::atomic<int64_t> allocated_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> total_{0};
  std::atomic<int64_t> count_{0};
};

}  // namespace forebay::table
