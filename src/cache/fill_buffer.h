// Memory for the bytes of a file on their way into the store.
#pragma once

#include <arrow/memory_pool.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/status.h"

namespace forebay::cache {

// What fills of files may take together, and where they take it.
struct FileMemory {
  MemoryBudget* budget = nullptr;
  arrow::MemoryPool* pool = nullptr;
};

// Given back when it ends. What it holds at first is not said.
class FillBuffer {
 public:
  // Waits until so much is free; one that is larger than the budget is there alone.
  static Result<FillBuffer> Make(uint64_t bytes, const FileMemory& memory,
                                 Deadline deadline);
  FillBuffer(FillBuffer&& other) noexcept
      : reservation_(std::move(other.reservation_)),
        pool_(other.pool_),
        bytes_(std::exchange(other.bytes_, {})) {}
  FillBuffer& operator=(FillBuffer&&) = delete;
  ~FillBuffer();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  FillBuffer(MemoryBudget::Reservation reservation, arrow::MemoryPool* pool)
      : reservation_(std::move(reservation)), pool_(pool) {}

  MemoryBudget::Reservation reservation_;
  arrow::MemoryPool* pool_;
  std::span<std::byte> bytes_;
};

}  // namespace forebay::cache
