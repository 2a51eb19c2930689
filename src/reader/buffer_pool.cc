#include "reader/buffer_pool.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>

namespace forebay::reader {
namespace {

constexpr uint64_t kSmallest = 1024;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

// Capacities: 1024 · 2^k · {4, 5, 6, 7}/4. At most a quarter of a block is wasted.
int ClassOf(uint64_t size) {
  if (size <= kSmallest) return 0;
  int power = std::bit_width(size - 1) - 1;  // 2^power < size ≤ 2^(power + 1)
  uint64_t quarter = (uint64_t{1} << power) / 4;
  uint64_t steps = (size - (uint64_t{1} << power) + quarter - 1) / quarter;
  return (power - 10) * 4 + static_cast<int>(steps);
}

uint64_t CapacityOf(int size_class) {
  uint64_t base = kSmallest << (size_class / 4);
  return base + base / 4 * static_cast<uint64_t>(size_class % 4);
}

uint64_t RoundUp(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

uint64_t AlignmentOf(uint64_t capacity) {
  if (capacity >= kHugePage) return kHugePage;
  return capacity >= 16 * kPage ? kPage : 64;
}

uint8_t* AllocateOnHeap(uint64_t capacity) {
  uint64_t alignment = AlignmentOf(capacity);
  void* block = std::aligned_alloc(alignment, RoundUp(capacity, alignment));
  if (block == nullptr) return nullptr;
  if (alignment == kHugePage) {
    // Advice only: without huge pages the block works as well, with more page faults.
    (void)madvise(block, RoundUp(capacity, alignment), MADV_HUGEPAGE);
  }
  return static_cast<uint8_t*>(block);
}

}  // namespace

void PooledBuffer::Reset() {
  if (data_ != nullptr) pool_->GiveBack(data_, capacity_);
  data_ = nullptr;
  pool_.reset();
}

std::shared_ptr<BufferPool> BufferPool::Make() { return Make(Options{}); }

std::shared_ptr<BufferPool> BufferPool::Make(Options options) {
  return std::shared_ptr<BufferPool>(new BufferPool(std::move(options)));
}

BufferPool::~BufferPool() {
  for (auto& slots : slots_) {
    for (auto& slot : slots) {
      uint8_t* data = slot.load(std::memory_order_relaxed);
      if (data != nullptr) Release(data);
    }
  }
}

uint8_t* BufferPool::Allocate(uint64_t capacity) const {
  const Memory& memory = options_.memory;
  return memory.allocate ? memory.allocate(capacity) : AllocateOnHeap(capacity);
}

void BufferPool::Release(uint8_t* data) const {
  const Memory& memory = options_.memory;
  memory.release ? memory.release(data) : std::free(data);
}

PooledBuffer BufferPool::Take(uint64_t size) {
  // Beyond this the classes end, and no machine has it.
  if (size > (uint64_t{1} << 46)) return {};
  int size_class = ClassOf(size + kPadding);
  uint64_t capacity = CapacityOf(size_class);
  if (size_class < kClasses) {
    for (auto& slot : slots_[size_class]) {
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      uint8_t* data = slot.exchange(nullptr, std::memory_order_acquire);
      if (data == nullptr) continue;
      kept_bytes_.fetch_sub(capacity, std::memory_order_relaxed);
      return {shared_from_this(), data, capacity};
    }
  }
  uint8_t* data = Allocate(capacity);
  if (data == nullptr) return {};
  fresh_count_.fetch_add(1, std::memory_order_relaxed);
  return {shared_from_this(), data, capacity};
}

void BufferPool::GiveBack(uint8_t* data, uint64_t capacity) {
  int size_class = ClassOf(capacity);
  uint64_t kept = kept_bytes_.fetch_add(capacity, std::memory_order_relaxed) + capacity;
  if (size_class < kClasses && kept <= options_.kept_bytes_max) {
    for (auto& slot : slots_[size_class]) {
      uint8_t* empty = nullptr;
      if (slot.load(std::memory_order_relaxed) != nullptr) continue;
      if (slot.compare_exchange_strong(empty, data, std::memory_order_release)) return;
    }
  }
  kept_bytes_.fetch_sub(capacity, std::memory_order_relaxed);
  Release(data);
}

}  // namespace forebay::reader
