// A block of a selection: one cache line that tells the stored rows of up to 256 live
// ones. Most rows live, so it names the dead ones between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace forebay::model {

struct GapBlock {
  static constexpr uint32_t kRows = 256;
  static constexpr uint32_t kGaps = 60;
  static constexpr int8_t kNone = 127;  // no more gaps

  uint32_t first = 0;  // the stored row of its first live row
  // One for each dead row between the live ones, ascending: which of the block's live
  // rows is the last before it, less 128. (Processors compare signed bytes at once.)
  int8_t gaps[kGaps];

  // False where more rows died between these live ones than a block holds.
  static bool Make(std::span<const uint32_t> live, GapBlock* block);

  // The stored row of its live row k.
  uint32_t RowOf(uint32_t k) const { return first + k + DeadBefore(k); }
  // How many live rows from k on lie side by side, if the block has that many.
  uint32_t RunAt(uint32_t k) const {
    uint32_t dead = DeadBefore(k);
    return dead < kGaps ? LiveRow(gaps[dead]) - k + 1 : kRows - k;
  }
  bool Ascends() const { return std::is_sorted(gaps, gaps + kGaps); }

 private:
  static uint32_t LiveRow(int8_t gap) { return static_cast<uint32_t>(gap + 128); }
  uint32_t DeadBefore(uint32_t k) const;
};
static_assert(sizeof(GapBlock) == 64);

// On the path of every shuffled row: no branch, no loop.
inline uint32_t GapBlock::DeadBefore(uint32_t k) const {
#if defined(__SSE2__)
  const auto* lines = reinterpret_cast<const __m128i*>(this);
  const __m128i key = _mm_set1_epi8(static_cast<char>(k - 128));
  const __m128i head = _mm_set_epi32(0, 0, 0, 0x7F7F7F7F);  // hides `first`
  __m128i dead = _mm_cmplt_epi8(
      _mm_or_si128(_mm_andnot_si128(_mm_set_epi32(0, 0, 0, -1), _mm_loadu_si128(lines)),
                   head),
      key);
  for (int i = 1; i < 4; ++i) {
    dead = _mm_add_epi8(dead, _mm_cmplt_epi8(_mm_loadu_si128(lines + i), key));
  }
  // Each byte is minus a count of up to 4.
  dead = _mm_sad_epu8(_mm_sub_epi8(_mm_setzero_si128(), dead), _mm_setzero_si128());
  return static_cast<uint32_t>(_mm_cvtsi128_si32(dead) + _mm_extract_epi16(dead, 4));
#else
  uint32_t dead = 0;
  for (int8_t gap : gaps) dead += LiveRow(gap) < k ? 1 : 0;
  return dead;
#endif
}

}  // namespace forebay::model
