// Just enough of FlatBuffers to read Arrow's metadata, with every access checked: what is
// out of bounds reads as absent and marks the view as bad.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace forebay::reader {

class FlatBuffer {
 public:
  explicit FlatBuffer(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }
  uint64_t size() const { return bytes_.size(); }

  template <typename T>
  T Read(uint64_t at) {
    T value{};
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  // Where the offset stored at `at` points to.
  uint64_t Follow(uint64_t at) { return at + Read<uint32_t>(at); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

struct FlatVector {
  uint64_t at = 0;  // of the first item
  uint64_t count = 0;
};

class FlatTable {
 public:
  FlatTable(FlatBuffer* buffer, uint64_t at) : buffer_(buffer), at_(at) {
    int64_t vtable = static_cast<int64_t>(at) - buffer->Read<int32_t>(at);
    if (vtable < 0) buffer->Fail();
    vtable_ = vtable < 0 ? 0 : static_cast<uint64_t>(vtable);
    vtable_size_ = buffer->Read<uint16_t>(vtable_);
  }
  static FlatTable Root(FlatBuffer* buffer) { return {buffer, buffer->Follow(0)}; }

  bool Has(int field) { return Slot(field) != 0; }
  template <typename T>
  T Get(int field, T absent) {
    uint64_t slot = Slot(field);
    return slot == 0 ? absent : buffer_->Read<T>(slot);
  }
  FlatTable Table(int field) { return {buffer_, buffer_->Follow(Slot(field))}; }
  // Items of `item_size` bytes each; empty when absent.
  FlatVector Vector(int field, uint64_t item_size) {
    uint64_t slot = Slot(field);
    if (slot == 0) return {};
    uint64_t at = buffer_->Follow(slot);
    uint64_t count = buffer_->Read<uint32_t>(at);
    at += sizeof(uint32_t);
    if (at > buffer_->size() || (buffer_->size() - at) / item_size < count) {
      buffer_->Fail();
      return {};
    }
    return {at, count};
  }

 private:
  // Where a field's value lies; 0 when it is absent.
  uint64_t Slot(int field) {
    uint64_t entry = 4 + 2 * static_cast<uint64_t>(field);
    if (entry + 2 > vtable_size_) return 0;
    uint16_t offset = buffer_->Read<uint16_t>(vtable_ + entry);
    return offset == 0 ? 0 : at_ + offset;
  }

  FlatBuffer* buffer_;
  uint64_t at_;
  uint64_t vtable_;
  uint64_t vtable_size_;
};

}  // namespace forebay::reader
