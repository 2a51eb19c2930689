// Reused, aligned memory for batches. In steady state a batch is gathered into pages that
// were touched before: a fresh mapping costs a page fault every 4 KiB, more than the
// copy.
//
// Thread-safe without locks, so a child forked while another thread takes a buffer can go
// on using its copy of the pool.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace forebay::reader {

class BufferPool;

// Owns a block of a pool and gives it back when destroyed. Outlives the pool if it must.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  ~PooledBuffer() { Reset(); }
  PooledBuffer(PooledBuffer&& other) noexcept
      : pool_(std::move(other.pool_)),
        data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  PooledBuffer& operator=(PooledBuffer&& other) noexcept {
    if (this != &other) {
      Reset();
      pool_ = std::move(other.pool_);
      data_ = std::exchange(other.data_, nullptr);
      capacity_ = std::exchange(other.capacity_, 0);
    }
    return *this;
  }

  uint8_t* data() const { return data_; }
  uint64_t capacity() const { return capacity_; }
  void Reset();

 private:
  friend class BufferPool;
  PooledBuffer(std::shared_ptr<BufferPool> pool, uint8_t* data, uint64_t capacity)
      : pool_(std::move(pool)), data_(data), capacity_(capacity) {}

  std::shared_ptr<BufferPool> pool_;
  uint8_t* data_ = nullptr;
  uint64_t capacity_ = 0;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Where blocks come from and go to, if not the heap: page-locked memory, for copies to
  // a device. Blocks are 64-byte aligned; null when there is no more. From any thread.
  struct Memory {
    std::function<uint8_t*(uint64_t size)> allocate{};
    std::function<void(uint8_t* block)> release{};
  };
  struct Options {
    uint64_t kept_bytes_max = uint64_t{256} << 20;  // idle blocks beyond this are freed
    Memory memory{};
  };
  static std::shared_ptr<BufferPool> Make(Options options);
  static std::shared_ptr<BufferPool> Make();
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // At least `size` bytes plus kPadding, 64-byte aligned (2 MiB when that large), with
  // undefined contents. Empty (data() null) when the system has no memory left.
  PooledBuffer Take(uint64_t size);

  uint64_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }
  // Blocks that came from the system rather than from the pool, since the start.
  uint64_t fresh_count() const { return fresh_count_.load(std::memory_order_relaxed); }

  // Kernels may write this far past what they were asked for.
  static constexpr uint64_t kPadding = 64;

 private:
  friend class PooledBuffer;
  // Four classes for each power of two from 1 KiB; larger blocks than the last class are
  // not kept.
  static constexpr int kClasses = 96;
  static constexpr int kSlots = 64;

  explicit BufferPool(Options options) : options_(std::move(options)) {}
  uint8_t* Allocate(uint64_t capacity) const;
  void Release(uint8_t* data) const;
  void GiveBack(uint8_t* data, uint64_t capacity);

  const Options options_;
  std::atomic<uint64_t> kept_bytes_{0};
  std::atomic<uint64_t> fresh_count_{0};
  std::array<std::array<std::atomic<uint8_t*>, kSlots>, kClasses> slots_{};
};

}  // namespace forebay::reader
