#include "cache/memory_gate.h"

#include <algorithm>

#include "base/arrow_status.h"

namespace forebay::cache {

Result<std::unique_ptr<MemoryGate::Pass>> MemoryGate::Enter(uint64_t bytes) {
  uint64_t counted = std::min(bytes, bytes_max_);
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return used_ + counted <= bytes_max_; });
    used_ += counted;
  }
  std::unique_ptr<Pass> pass(new Pass(this, counted));
  uint8_t* data = nullptr;
  FB_RETURN_NOT_OK(FromArrow(pool_->Allocate(static_cast<int64_t>(bytes), &data)));
  pass->bytes_ = {reinterpret_cast<std::byte*>(data), bytes};
  return pass;
}

MemoryGate::Pass::~Pass() {
  if (bytes_.data() != nullptr) {
    gate_->pool_->Free(reinterpret_cast<uint8_t*>(bytes_.data()),
                       static_cast<int64_t>(bytes_.size()));
  }
  {
    std::lock_guard lock(gate_->mutex_);
    gate_->used_ -= counted_;
  }
  gate_->freed_.notify_all();
}

}  // namespace forebay::cache
