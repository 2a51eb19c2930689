// Arrow memory whose large blocks are kept when they are freed.
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace forebay::cache {

// Decoding one unit after the other asks for blocks of the same sizes again and again,
// and memory that is new to a process costs more than decoding into it. Large blocks are
// mapped by themselves and, once freed, kept for whoever asks next; small ones are the
// default pool's. Thread-safe; outlives its buffers.
class BlockMemoryPool : public arrow::MemoryPool {
 public:
  static constexpr int64_t kLargeBytes = int64_t{256} << 10;

  // Of freed blocks at most so much is kept, those freed last.
  explicit BlockMemoryPool(int64_t keep_bytes_max) : keep_bytes_max_(keep_bytes_max) {}
  ~BlockMemoryPool() override { Unmap(0); }

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;
  // Gives back what is kept.
  void ReleaseUnused() override;

  int64_t bytes_allocated() const override { return allocated_; }
  int64_t max_memory() const override { return -1; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return small_->backend_name(); }
  int64_t kept_bytes() const;

 private:
  struct Block {
    uint8_t* at = nullptr;
    int64_t bytes = 0;
  };

  // A kept block of this many bytes, or null.
  uint8_t* TakeKept(int64_t bytes);
  void Keep(Block block);
  // Gives back the blocks that were freed first, until no more than this is kept.
  void Unmap(int64_t keep_bytes);
  void Count(int64_t bytes);

  arrow::MemoryPool* const small_ = arrow::default_memory_pool();
  const int64_t keep_bytes_max_;
  std::atomic<int64_t> allocated_{0};
  std::atomic<int64_t> total_{0};
  std::atomic<int64_t> count_{0};
  mutable std::mutex mutex_;  // of all below
  std::vector<Block> kept_;   // in the order they were freed
  int64_t kept_bytes_ = 0;
};

}  // namespace forebay::cache
