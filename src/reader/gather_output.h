// What the gather kernels write into: a column and the pooled buffers behind it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "reader/buffer_pool.h"
#include "reader/column.h"

namespace forebay::reader {

class GatherOutput {
 public:
  GatherOutput(const model::Field& field, TypeLayout type, uint64_t length,
               BufferPool* pool)
      : pool_(pool), held_(std::make_shared<Held>()) {
    column_.field = &field;
    column_.type = type;
    column_.length = length;
    column_.null_count = type.layout == Layout::kNull ? length : 0;
  }

  // Memory for buffer `index`; its size is what the column will say it has.
  Result<uint8_t*> Allocate(int index, uint64_t size) {
    PooledBuffer& buffer = (*held_)[index];
    buffer = pool_->Take(size);
    if (buffer.data() == nullptr) {
      return Status::Full(
          "There is no memory left for a batch: use smaller batches or fewer columns.");
    }
    column_.buffers[index] = {buffer.data(), size};
    return buffer.data();
  }
  void AddChild(Column child) { column_.children.push_back(std::move(child)); }
  // Keeps the validity bits only if some say null.
  void SetNullCount(uint64_t nulls) {
    column_.null_count = nulls;
    if (nulls != 0) return;
    (*held_)[0].Reset();
    column_.buffers[0] = {};
  }

  BufferPool* pool() const { return pool_; }
  const model::Field& field() const { return *column_.field; }
  TypeLayout type() const { return column_.type; }
  uint64_t length() const { return column_.length; }
  Column Finish() && {
    column_.owner = std::move(held_);
    column_.writable = true;
    return std::move(column_);
  }

 private:
  using Held = std::array<PooledBuffer, 3>;

  BufferPool* pool_;
  std::shared_ptr<Held> held_;
  Column column_;
};

// Scratch of `count` items that lasts as long as `*keep`.
template <typename T>
Result<T*> TakeScratch(BufferPool* pool, uint64_t count, PooledBuffer* keep) {
  *keep = pool->Take(count * sizeof(T));
  if (keep->data() == nullptr)
    return Status::Full("There is no memory left for a batch.");
  return reinterpret_cast<T*>(keep->data());
}

inline Status OffsetsOverflow(const model::Field& field) {
  return Status::Full("A batch of column \"" + field.name +
                      "\" would pass 2 GiB, more than its type's 32-bit offsets can "
                      "address: use smaller batches.");
}

inline Status BadOffsets(const model::Field& field) {
  return Status::Corrupt("The offsets of column \"" + field.name +
                         "\" in a chunk make no sense.");
}

}  // namespace forebay::reader
