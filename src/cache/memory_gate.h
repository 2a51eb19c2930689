// The memory of fills of files: so many bytes at once. Thread-safe.
#pragma once

#include <arrow/memory_pool.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/status.h"

namespace forebay::cache {

class MemoryGate {
 public:
  MemoryGate(uint64_t bytes_max, arrow::MemoryPool* pool)
      : bytes_max_(bytes_max), pool_(pool) {}

  // Bytes of the pool, given back when this ends. What they hold at first is not said.
  class Pass {
   public:
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    std::span<std::byte> bytes() const { return bytes_; }

   private:
    friend class MemoryGate;
    Pass(MemoryGate* gate, uint64_t counted) : gate_(gate), counted_(counted) {}

    MemoryGate* gate_;
    uint64_t counted_;
    std::span<std::byte> bytes_;
  };

  // Waits for its turn; one that is larger than all runs alone.
  Result<std::unique_ptr<Pass>> Enter(uint64_t bytes);

 private:
  const uint64_t bytes_max_;
  arrow::MemoryPool* const pool_;
  std::mutex mutex_;
  std::condition_variable freed_;
  uint64_t used_ = 0;
};

}  // namespace forebay::cache
