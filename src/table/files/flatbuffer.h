// Just enough of FlatBuffers to look into Arrow IPC metadata. Every access is checked
// against the bytes; what is absent or broken reads as zero or empty.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace forebay::table {

// A vector of structs of a known width.
struct FlatVector {
  std::string_view items;
  uint32_t count = 0;

  template <typename T>
  T Get(uint32_t index, uint32_t width, uint32_t at) const {
    T value;
    std::memcpy(&value, items.data() + static_cast<size_t>(index) * width + at,
                sizeof(T));
    return value;
  }
};

class FlatTable {
 public:
  FlatTable() = default;
  static FlatTable Root(std::string_view bytes) {
    FlatTable root(bytes, 0);
    return root.Follow(0);
  }

  bool ok() const { return !bytes_.empty(); }

  // Where a field's value is in the bytes; 0 when it is absent.
  size_t Position(uint32_t field) const { return Slot(field); }

  template <typename T>
  T Scalar(uint32_t field) const {
    size_t at = Slot(field);
    return at == 0 ? T{} : Load<T>(at);
  }
  FlatTable Table(uint32_t field) const {
    size_t at = Slot(field);
    return at == 0 ? FlatTable() : Follow(at);
  }
  FlatVector Vector(uint32_t field, uint32_t width) const {
    size_t at = Slot(field);
    if (at == 0) return {};
    at += Load<uint32_t>(at);
    auto count = Load<uint32_t>(at);
    if (at + 4 > bytes_.size() || count > (bytes_.size() - at - 4) / width) return {};
    return {bytes_.substr(at + 4, static_cast<size_t>(count) * width), count};
  }

 private:
  FlatTable(std::string_view bytes, size_t at) : bytes_(bytes), at_(at) {}

  FlatTable Follow(size_t at) const {
    size_t target = at + Load<uint32_t>(at);
    if (target == at || target + 4 > bytes_.size()) return {};
    return {bytes_, target};
  }
  template <typename T>
  T Load(size_t at) const {
    T value{};
    if (at <= bytes_.size() && sizeof(T) <= bytes_.size() - at) {
      std::memcpy(&value, bytes_.data() + at, sizeof(T));
    }
    return value;
  }
  // Where a field's value is; 0 when it is absent.
  size_t Slot(uint32_t field) const {
    if (!ok()) return 0;
    int64_t vtable = static_cast<int64_t>(at_) - Load<int32_t>(at_);
    if (vtable < 0) return 0;
    auto base = static_cast<size_t>(vtable);
    size_t entry = 4 + 2 * static_cast<size_t>(field);
    if (entry + 2 > Load<uint16_t>(base)) return 0;
    auto offset = Load<uint16_t>(base + entry);
    return offset == 0 ? 0 : at_ + offset;
  }

  std::string_view bytes_;
  size_t at_ = 0;
};

}  // namespace forebay::table
