// The 32-bit Murmur3 hash (x86 variant, seed 0) that bucket partitions are made with.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace forebay::table::iceberg {

inline uint32_t Murmur3(std::string_view bytes) {
  auto mix = [](uint32_t k) { return std::rotl(k * 0xcc9e2d51, 15) * 0x1b873593; };
  uint32_t hash = 0;
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + i, 4);
    hash = std::rotl(hash ^ mix(word), 13) * 5 + 0xe6546b64;
  }
  uint32_t tail = 0;
  for (size_t j = bytes.size(); j > i; --j) {
    tail = tail << 8 | static_cast<uint8_t>(bytes[j - 1]);
  }
  if (i < bytes.size()) hash ^= mix(tail);
  hash ^= static_cast<uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85ebca6b;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35;
  return hash ^ hash >> 16;
}

}  // namespace forebay::table::iceberg
