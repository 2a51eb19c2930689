#include "cache/block_memory_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace forebay::cache {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kHugePageBytes = int64_t{2} << 20;

bool IsLarge(int64_t size, int64_t alignment) {
  return size >= BlockMemoryPool::kLargeBytes && alignment <= kPageBytes;
}

// Few sizes, so that blocks fit again. Pages that nobody wrote to yet are not there.
int64_t BlockBytes(int64_t size) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
}

uint8_t* MapBlock(int64_t bytes) {
  void* at = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  if (bytes >= kHugePageBytes) ::madvise(at, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<uint8_t*>(at);
}

}  // namespace

arrow::Status BlockMemoryPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (!IsLarge(size, alignment)) {
    ARROW_RETURN_NOT_OK(small_->Allocate(size, alignment, out));
  } else {
    int64_t bytes = BlockBytes(size);
    uint8_t* block = TakeKept(bytes);
    if (block == nullptr) block = MapBlock(bytes);
    if (block == nullptr) {
      return arrow::Status::OutOfMemory("the system has no ", bytes, " bytes of memory");
    }
    *out = block;
  }
  Count(size);
  return arrow::Status::OK();
}

arrow::Status BlockMemoryPool::Reallocate(int64_t old_size, int64_t new_size,
                                          int64_t alignment, uint8_t** ptr) {
  bool was_large = IsLarge(old_size, alignment);
  if (!was_large && !IsLarge(new_size, alignment)) {
    ARROW_RETURN_NOT_OK(small_->Reallocate(old_size, new_size, alignment, ptr));
    Count(new_size - old_size);
    return arrow::Status::OK();
  }
  bool same_block = was_large && IsLarge(new_size, alignment) &&
                    BlockBytes(old_size) == BlockBytes(new_size);
  if (same_block) {
    Count(new_size - old_size);
    return arrow::Status::OK();
  }
  uint8_t* moved = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  std::memcpy(moved, *ptr, static_cast<size_t>(std::min(old_size, new_size)));
  Free(*ptr, old_size, alignment);
  *ptr = moved;
  return arrow::Status::OK();
}

void BlockMemoryPool::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  allocated_ -= size;
  if (IsLarge(size, alignment)) {
    Keep({buffer, BlockBytes(size)});
  } else {
    small_->Free(buffer, size, alignment);
  }
}

void BlockMemoryPool::ReleaseUnused() {
  Unmap(0);
  small_->ReleaseUnused();
}

int64_t BlockMemoryPool::kept_bytes() const {
  std::lock_guard lock(mutex_);
  return kept_bytes_;
}

uint8_t* BlockMemoryPool::TakeKept(int64_t bytes) {
  std::lock_guard lock(mutex_);
  auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                            [&](const Block& block) { return block.bytes == bytes; });
  if (found == kept_.rend()) return nullptr;
  uint8_t* at = found->at;
  kept_.erase(std::next(found).base());
  kept_bytes_ -= bytes;
  return at;
}

void BlockMemoryPool::Keep(Block block) {
  {
    std::lock_guard lock(mutex_);
    kept_.push_back(block);
    kept_bytes_ += block.bytes;
  }
  Unmap(keep_bytes_max_);
}

void BlockMemoryPool::Unmap(int64_t keep_bytes) {
  std::vector<Block> given_up;
  {
    std::lock_guard lock(mutex_);
    size_t count = 0;
    while (kept_bytes_ > keep_bytes) kept_bytes_ -= kept_[count++].bytes;
    given_up.assign(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(count));
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(count));
  }
  for (const Block& block : given_up)
    ::munmap(block.at, static_cast<size_t>(block.bytes));
}

void BlockMemoryPool::Count(int64_t bytes) {
  allocated_ += bytes;
  total_ += std::max<int64_t>(bytes, 0);
  ++count_;
}

}  // namespace forebay::cache
