// Asks for memory before it is needed.
#pragma once

namespace forebay {

// Which cache the line should come to.
enum class CacheLevel { kFirst, kSecond };

// The empty statement keeps the function from looking as if it did nothing: g++ drops
// calls of functions that only prefetch, and with them the prefetches.
template <CacheLevel kLevel = CacheLevel::kFirst>
inline void Prefetch(const void* at) {
  __builtin_prefetch(at, 0, kLevel == CacheLevel::kFirst ? 3 : 2);
  asm volatile("");
}

}  // namespace forebay
