// Long lists of values, to be asked for each row.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "table/iceberg/value.h"

namespace forebay::table::filter {

inline uint64_t MixBits(uint64_t x) {
  x *= 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio: spreads low bits upwards
  return x ^ (x >> 32);
}
inline uint64_t HashOf(int32_t x) { return MixBits(static_cast<uint64_t>(x)); }
inline uint64_t HashOf(int64_t x) { return MixBits(static_cast<uint64_t>(x)); }
inline uint64_t HashOf(iceberg::Int128 x) {
  return MixBits(static_cast<uint64_t>(x) ^ MixBits(static_cast<uint64_t>(x >> 64)));
}
// Adding zero makes one of the two zeros.
inline uint64_t HashOf(double x) { return MixBits(std::bit_cast<uint64_t>(x + 0.0)); }
inline uint64_t HashOf(float x) { return HashOf(static_cast<double>(x)); }
inline uint64_t HashOf(std::string_view x) { return std::hash<std::string_view>()(x); }

// Open addressing, at most half full. Equality is the type's own: NaN is never in it.
template <typename T>
class ValueSet {
 public:
  explicit ValueSet(const std::vector<T>& values)
      : slots_(std::bit_ceil(values.size() * 2 + 1)), mask_(slots_.size() - 1) {
    for (const T& value : values) {
      uint64_t at = HashOf(value) & mask_;
      while (slots_[at].used) at = (at + 1) & mask_;
      slots_[at] = {value, true};
    }
  }

  bool Contains(const T& value) const {
    for (uint64_t at = HashOf(value) & mask_; slots_[at].used; at = (at + 1) & mask_) {
      if (slots_[at].value == value) return true;
    }
    return false;
  }

 private:
  struct Slot {
    T value{};
    bool used = false;
  };
  std::vector<Slot> slots_;
  uint64_t mask_;
};

}  // namespace forebay::table::filter
