#include "cache/fill_buffer.h"

#include "base/arrow_status.h"

namespace forebay::cache {

Result<FillBuffer> FillBuffer::Make(uint64_t bytes, const FileMemory& memory,
                                    Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto reservation,
                      memory.budget->Reserve({.bytes = bytes, .deadline = deadline}));
  FillBuffer buffer(std::move(reservation), memory.pool);
  uint8_t* data = nullptr;
  FB_RETURN_NOT_OK(FromArrow(memory.pool->Allocate(static_cast<int64_t>(bytes), &data)));
  buffer.bytes_ = {reinterpret_cast<std::byte*>(data), bytes};
  return buffer;
}

FillBuffer::~FillBuffer() {
  if (bytes_.data() == nullptr) return;
  pool_->Free(reinterpret_cast<uint8_t*>(bytes_.data()),
              static_cast<int64_t>(bytes_.size()));
}

}  // namespace forebay::cache
