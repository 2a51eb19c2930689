// Avro's binary encoding, bounds-checked. The first failure is remembered and nothing is
// read after it (zeros and empty views come back), so callers check once per row or
// block.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/status.h"
#include "table/avro/schema.h"

namespace forebay::table::avro {

class Decoder {
 public:
  explicit Decoder(std::string_view bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  int64_t Long() {
    if (next_ != end_ && static_cast<int8_t>(*next_) >= 0) {
      auto byte = static_cast<uint8_t>(*next_++);
      return static_cast<int64_t>(byte >> 1) ^ -static_cast<int64_t>(byte & 1);
    }
    return LongSlow();
  }
  // Fails when the value does not fit.
  int32_t Int() {
    int64_t value = Long();
    if (value != static_cast<int32_t>(value)) return Fail(), 0;
    return static_cast<int32_t>(value);
  }
  bool Boolean() {
    std::string_view byte = Fixed(1);
    if (byte.empty()) return false;
    if (static_cast<uint8_t>(byte[0]) > 1) return Fail(), false;
    return byte[0] != 0;
  }
  float Float() { return Little<float>(); }
  double Double() { return Little<double>(); }
  // Bytes and strings: views into the decoder's bytes.
  std::string_view Bytes() {
    int64_t size = Long();
    if (size < 0) return Fail(), std::string_view();
    return Fixed(static_cast<uint64_t>(size));
  }
  std::string_view Fixed(uint64_t size) {
    if (size > remaining()) return Fail(), std::string_view();
    std::string_view view(next_, size);
    next_ += size;
    return view;
  }
  // A union's branch, below `count`.
  int64_t Branch(int64_t count) {
    int64_t branch = Long();
    if (branch < 0 || branch >= count) return Fail(), 0;
    return branch;
  }
  // For the null_branch() of a schema: whether a value follows.
  bool Present(int null_branch) { return null_branch < 0 || Branch(2) != null_branch; }

  // How many items the next block of an array or map has; 0: there are no more. Never
  // more than the bytes can hold; items without bytes come from a budget of 2^24.
  int64_t ItemCount(int64_t item_bytes_min);

  // Over one value. Never takes longer than the bytes are long.
  void Skip(const Schema& schema);

  bool ok() const { return ok_; }
  size_t remaining() const { return static_cast<size_t>(end_ - next_); }
  void Fail() {
    ok_ = false;
    next_ = end_;
  }
  // kCorrupt unless everything was read without failure.
  Status Finish(std::string_view what) const;

 private:
  int64_t LongSlow();
  void SkipItems(const Schema& schema);
  template <typename T>
  T Little() {
    T value{};
    std::string_view bytes = Fixed(sizeof(T));
    if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  static_assert(std::endian::native == std::endian::little);

  const char* next_;
  const char* end_;
  int64_t empty_items_left_ = int64_t{1} << 24;
  bool ok_ = true;
};

}  // namespace forebay::table::avro
