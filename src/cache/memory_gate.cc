#include "cache/memory_gate.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/size.h"

namespace forebay::cache {
namespace {

constexpr uint64_t kBlockBytesMin = kMiB;
// Sizes of blocks are rounded up to this, so that they fit more than one chunk.
constexpr uint64_t kStepBytes = 4 * kMiB;

std::span<std::byte> NewBlock(uint64_t bytes) {
  uint64_t size = (bytes + kStepBytes - 1) / kStepBytes * kStepBytes;
  void* data =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();  // as new would
  (void)::madvise(data, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(data), size};
}

}  // namespace

MemoryGate::~MemoryGate() {
  for (std::span<std::byte> block : kept_) ::munmap(block.data(), block.size());
}

MemoryGate::Pass::Pass(MemoryGate* gate, uint64_t bytes)
    : gate_(gate), counted_(std::min(bytes, gate->bytes_max_)) {
  {
    std::unique_lock lock(gate_->mutex_);
    gate_->freed_.wait(lock,
                       [&] { return gate_->used_ + counted_ <= gate_->bytes_max_; });
    gate_->used_ += counted_;
  }
  if (bytes >= kBlockBytesMin) {
    block_ = gate_->TakeBlock(bytes);
    bytes_ = block_.first(bytes);
  } else {
    small_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    bytes_ = {small_.get(), bytes};
  }
}

MemoryGate::Pass::~Pass() {
  if (!block_.empty()) gate_->GiveBack(block_);
  {
    std::lock_guard lock(gate_->mutex_);
    gate_->used_ -= counted_;
  }
  gate_->freed_.notify_all();
}

std::span<std::byte> MemoryGate::TakeBlock(uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    // The latest first: its pages are the likeliest to be there.
    for (size_t i = kept_.size(); i-- > 0;) {
      std::span<std::byte> block = kept_[i];
      if (block.size() < bytes || block.size() > 2 * bytes + kStepBytes) continue;
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
      kept_bytes_ -= block.size();
      return block;
    }
  }
  return NewBlock(bytes);
}

void MemoryGate::GiveBack(std::span<std::byte> block) {
  (void)::madvise(block.data(), block.size(), MADV_FREE);
  std::lock_guard lock(mutex_);
  if (kept_bytes_ + block.size() > std::min(kKeptBytesMax, bytes_max_)) {
    ::munmap(block.data(), block.size());
    return;
  }
  kept_.push_back(block);
  kept_bytes_ += block.size();
}

}  // namespace forebay::cache
