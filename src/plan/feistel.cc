#include "plan/feistel.h"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forebay::plan::feistel {
namespace {

// Odd constants whose products spread every input bit over the upper half.
constexpr uint64_t kMultiplier1 = 0x9E3779B1;
constexpr uint64_t kMultiplier2 = 0x85EBCA77;
// A double in [2^52, 2^53) has its integer in the low 52 bits: adding 2^52 rounds to the
// nearest integer, and the bits need no conversion instruction.
constexpr uint64_t kDoubleBits = 0x4330000000000000;
constexpr double kDoubleBase = 0x1p52;

namespace scalar {
using V = uint64_t;
constexpr int kLanes = 1;
constexpr int kUnroll = 4;
inline V Set(uint64_t x) { return x; }
inline V Load(const uint64_t* p) { return *p; }
inline void Store(uint64_t* p, V v) { *p = v; }
inline V Mul32(V x, V y) {
  return uint64_t{static_cast<uint32_t>(x)} * static_cast<uint32_t>(y);
}
inline V Min32(V x, V y) {
  // One of the two always has a zero high half, so the 64-bit minimum is the same.
  return std::min(x, y);
}
inline V Quotient(V x, double c) {
  double d = std::bit_cast<double>(x | kDoubleBits) - kDoubleBase;
  return std::bit_cast<uint64_t>(d * c + kDoubleBase) ^ kDoubleBits;
}
#include "plan/feistel_lanes.inc"

void ForwardPass(const Permutation::Network& net, uint64_t* values, size_t count) {
  for (size_t i = ForwardBlocks(net, values, count); i < count; ++i) {
    values[i] = feistel::Forward(net, values[i]);
  }
}
void InversePass(const Permutation::Network& net, uint64_t* values, size_t count) {
  for (size_t i = InverseBlocks(net, values, count); i < count; ++i) {
    values[i] = feistel::Inverse(net, values[i]);
  }
}
}  // namespace scalar

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2")
namespace avx2 {
typedef uint64_t V __attribute__((vector_size(32)));
constexpr int kLanes = 4;
constexpr int kUnroll = 2;
inline V Set(uint64_t x) { return (V)_mm256_set1_epi64x(static_cast<long long>(x)); }
inline V Load(const uint64_t* p) {
  return (V)_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline void Store(uint64_t* p, V v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
}
inline V Mul32(V x, V y) { return (V)_mm256_mul_epu32((__m256i)x, (__m256i)y); }
inline V Min32(V x, V y) { return (V)_mm256_min_epu32((__m256i)x, (__m256i)y); }
inline V Quotient(V x, double c) {
  __m256d base = _mm256_set1_pd(kDoubleBase);
  __m256d d = _mm256_sub_pd((__m256d)(x | Set(kDoubleBits)), base);
  return (V)_mm256_add_pd(_mm256_mul_pd(d, _mm256_set1_pd(c)), base) ^ Set(kDoubleBits);
}
#include "plan/feistel_lanes.inc"

void ForwardPass(const Permutation::Network& net, uint64_t* values, size_t count) {
  size_t done = ForwardBlocks(net, values, count);
  scalar::ForwardPass(net, values + done, count - done);
}
void InversePass(const Permutation::Network& net, uint64_t* values, size_t count) {
  size_t done = InverseBlocks(net, values, count);
  scalar::InversePass(net, values + done, count - done);
}
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
namespace avx512 {
typedef uint64_t V __attribute__((vector_size(64)));
constexpr int kLanes = 8;
constexpr int kUnroll = 2;
inline V Set(uint64_t x) { return (V)_mm512_set1_epi64(static_cast<long long>(x)); }
inline V Load(const uint64_t* p) { return (V)_mm512_loadu_si512(p); }
inline void Store(uint64_t* p, V v) { _mm512_storeu_si512(p, (__m512i)v); }
// The forms with a full mask: the plain ones make g++ 12 warn of undefined values.
inline V Mul32(V x, V y) {
  return (V)_mm512_maskz_mul_epu32(0xFF, (__m512i)x, (__m512i)y);
}
inline V Min32(V x, V y) {
  return (V)_mm512_maskz_min_epu32(0xFFFF, (__m512i)x, (__m512i)y);
}
inline V Quotient(V x, double c) {
  __m512d base = _mm512_set1_pd(kDoubleBase);
  __m512d d = _mm512_sub_pd((__m512d)(x | Set(kDoubleBits)), base);
  return (V)_mm512_add_pd(_mm512_mul_pd(d, _mm512_set1_pd(c)), base) ^ Set(kDoubleBits);
}
#include "plan/feistel_lanes.inc"

void ForwardPass(const Permutation::Network& net, uint64_t* values, size_t count) {
  size_t done = ForwardBlocks(net, values, count);
  scalar::ForwardPass(net, values + done, count - done);
}
void InversePass(const Permutation::Network& net, uint64_t* values, size_t count) {
  size_t done = InverseBlocks(net, values, count);
  scalar::InversePass(net, values + done, count - done);
}
}  // namespace avx512
#pragma GCC pop_options
#endif

constexpr Kernels kKernels[] = {
    {"scalar", scalar::ForwardPass, scalar::InversePass},
#if defined(__x86_64__)
    {"avx2", avx2::ForwardPass, avx2::InversePass},
    {"avx512", avx512::ForwardPass, avx512::InversePass},
#endif
};

size_t CountRunnable() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 3;
  if (__builtin_cpu_supports("avx2")) return 2;
#endif
  return 1;
}

}  // namespace

size_t KernelCount() {
  static const size_t count = CountRunnable();
  return count;
}

const Kernels& KernelAt(size_t index) { return kKernels[index]; }

const Kernels& Best() { return kKernels[KernelCount() - 1]; }

uint64_t Forward(const Permutation::Network& net, uint64_t x) {
  uint64_t l, r;
  scalar::Split(net, x, &l, &r);
  for (int i = 0; i < net.rounds; i += 2) {
    l = scalar::AddModulo(l, scalar::Addend(r, net.keys[i], net.a), net.a);
    r = scalar::AddModulo(r, scalar::Addend(l, net.keys[i + 1], net.b), net.b);
  }
  return l * net.b + r;
}

uint64_t Inverse(const Permutation::Network& net, uint64_t y) {
  uint64_t l, r;
  scalar::Split(net, y, &l, &r);
  for (int i = net.rounds - 2; i >= 0; i -= 2) {
    r = scalar::SubtractModulo(r, scalar::Addend(l, net.keys[i + 1], net.b), net.b);
    l = scalar::SubtractModulo(l, scalar::Addend(r, net.keys[i], net.a), net.a);
  }
  return l * net.b + r;
}

}  // namespace forebay::plan::feistel
