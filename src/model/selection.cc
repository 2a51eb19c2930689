#include "model/selection.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forebay::model {
namespace {

// A list is used where it is smaller than a bitmap by far and no bitmap word is worth
// scanning.
constexpr uint32_t kListDivisor = 16;
// How many rows ahead memory is fetched.
constexpr size_t kAhead = 24;

#if defined(__x86_64__)
const bool kHasBmi2 = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
const bool kHasBmi2 = false;
#endif

uint64_t BitmapWords(uint32_t stored) { return (uint64_t{stored} + 63) / 64; }
uint64_t PackedWords(uint64_t count) { return (count + 1) / 2; }

// The place of the k-th set bit; the word has more than k. Halves by their counts: six
// steps, no loop over bits.
uint32_t SelectInWord(uint64_t word, uint32_t k) {
  uint32_t place = 0;
  for (uint32_t width = 32; width > 0; width /= 2) {
    uint64_t low = word & ((uint64_t{1} << width) - 1);
    auto count = static_cast<uint32_t>(std::popcount(low));
    bool high = k >= count;
    k -= high ? count : 0;
    place += high ? width : 0;
    word = high ? word >> width : low;
  }
  return place;
}

// The k-th set bit from bit `row` on.
uint32_t SelectFrom(const uint64_t* words, uint32_t row, uint32_t k) {
  uint64_t index = row / 64;
  uint64_t word = words[index] & (~uint64_t{0} << (row % 64));
  while (true) {
    auto count = static_cast<uint32_t>(std::popcount(word));
    if (k < count) return static_cast<uint32_t>(index * 64) + SelectInWord(word, k);
    k -= count;
    word = words[++index];
  }
}

// Ones from bit `bit` on, in words that are followed by others, at most `limit`.
uint32_t OnesAt(const uint64_t* words, uint32_t bit, uint32_t limit) {
  uint32_t at = bit;
  while (at - bit < limit) {
    uint64_t zeros = ~words[at / 64] >> (at % 64);
    if (zeros != 0) {
      at += static_cast<uint32_t>(std::countr_zero(zeros));
      break;
    }
    at += 64 - at % 64;
  }
  return std::min(at - bit, limit);
}

void AppendPacked(const std::vector<uint32_t>& rows, std::vector<uint64_t>* words) {
  size_t at = words->size();
  words->resize(at + PackedWords(rows.size()));
  if (!rows.empty()) std::memcpy(words->data() + at, rows.data(), rows.size() * 4);
}

template <typename Visit>
void ForEachLive(const LiveRows& live, Visit&& visit) {
  for (size_t w = 0; w < live.words.size(); ++w) {
    for (uint64_t word = live.words[w]; word != 0; word &= word - 1) {
      visit(static_cast<uint32_t>(w * 64 + std::countr_zero(word)));
    }
  }
}

// The rows that live; only every `stride`-th of them.
std::vector<uint32_t> RowsAtStride(const LiveRows& live, uint32_t stride) {
  std::vector<uint32_t> rows;
  uint64_t seen = 0;
  ForEachLive(live, [&](uint32_t row) {
    if (seen++ % stride == 0) rows.push_back(row);
  });
  return rows;
}

}  // namespace

Selection::Selection(const uint64_t* words, Shape shape)
    : kind_(shape.kind), live_(shape.live), stored_(shape.stored), words_(words) {
  const auto* rows = reinterpret_cast<const uint32_t*>(words_);
  if (kind_ == SelectionKind::kList) rows_ = rows;
  if (kind_ == SelectionKind::kBitmap) rows_ = rows + BitmapWords(stored_) * 2;
}

uint64_t Selection::WordCount(Shape shape) {
  switch (shape.kind) {
    case SelectionKind::kAll: return 0;
    case SelectionKind::kList: return PackedWords(shape.live);
    case SelectionKind::kDense:
      return (uint64_t{shape.live} + kDenseRows - 1) / kDenseRows * kDenseWords;
    case SelectionKind::kBitmap: break;
  }
  uint64_t samples = (uint64_t{shape.live} + kSampleRows - 1) / kSampleRows;
  return BitmapWords(shape.stored) + PackedWords(samples);
}

namespace {

// False, and nothing appended, where 256 live rows span more than a block holds.
bool AppendDense(const LiveRows& live, uint32_t block_rows,
                 std::vector<uint64_t>* words) {
  size_t start = words->size();
  uint64_t seen = 0;
  uint32_t first = 0;
  bool fits = true;
  ForEachLive(live, [&](uint32_t row) {
    if (!fits) return;
    if (seen++ % block_rows == 0) {
      words->resize(words->size() + 8);
      (*words)[words->size() - 8] = first = row;
    }
    uint32_t bit = row - first;
    fits = bit < 448;
    if (fits) (*words)[words->size() - 7 + bit / 64] |= uint64_t{1} << (bit % 64);
  });
  if (!fits) words->resize(start);
  return fits;
}

}  // namespace

Selection::Appended Selection::Append(const LiveRows& live,
                                      std::vector<uint64_t>* words) {
  uint64_t count = live.Count();
  if (count < live.row_count / kListDivisor) {
    uint64_t offset = words->size();
    AppendPacked(RowsAtStride(live, 1), words);
    return {offset, SelectionKind::kList};
  }
  size_t before = words->size();
  words->resize((before + kDenseWords - 1) / kDenseWords * kDenseWords);
  uint64_t offset = words->size();
  if (AppendDense(live, kDenseRows, words)) return {offset, SelectionKind::kDense};
  words->resize(before);
  words->insert(words->end(), live.words.begin(), live.words.end());
  AppendPacked(RowsAtStride(live, kSampleRows), words);
  return {before, SelectionKind::kBitmap};
}

uint32_t Selection::RowOf(uint32_t i) const {
  switch (kind_) {
    case SelectionKind::kAll: return i;
    case SelectionKind::kList: return rows_[i];
    case SelectionKind::kBitmap:
      return SelectFrom(words_, rows_[i / kSampleRows], i % kSampleRows);
    case SelectionKind::kDense: break;
  }
  const uint64_t* block = words_ + i / kDenseRows * kDenseWords;
  return static_cast<uint32_t>(block[0]) + SelectFrom(block + 1, 0, i % kDenseRows);
}

// What row i + kAhead needs is fetched while row i is looked at; of a bitmap first the
// sample, then the word.
inline void Selection::PrefetchAhead(std::span<const Selection> selections,
                                     std::span<const RangeRow> rows, size_t i) {
  if (i + 2 * kAhead < rows.size()) {
    RangeRow far = rows[i + 2 * kAhead];
    selections[far.source].Prefetch(far.row);
  }
  if (i + kAhead < rows.size()) {
    RangeRow near = rows[i + kAhead];
    selections[near.source].PrefetchWord(near.row);
  }
}

void Selection::ToStored(std::span<const Selection> selections,
                         std::span<RangeRow> rows) {
  for (RangeRow row : rows.first(std::min<size_t>(2 * kAhead, rows.size()))) {
    selections[row.source].Prefetch(row.row);
  }
  kHasBmi2 ? SelectAllBmi2(selections, rows) : SelectAll(selections, rows);
}

void Selection::SelectAll(std::span<const Selection> selections,
                          std::span<RangeRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    PrefetchAhead(selections, rows, i);
    rows[i].row = selections[rows[i].source].RowOf(rows[i].row);
  }
}

#if defined(__x86_64__)
// Dense blocks with the instructions made for it, which every server of the last ten
// years has, and no branch that depends on the row: half of them would be guessed wrong.
[[gnu::target("bmi,bmi2,popcnt")]] void Selection::SelectAllBmi2(
    std::span<const Selection> selections, std::span<RangeRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    PrefetchAhead(selections, rows, i);
    RangeRow& row = rows[i];
    const Selection& selection = selections[row.source];
    if (selection.kind_ != SelectionKind::kDense) {
      row.row = selection.RowOf(row.row);
      continue;
    }
    const uint64_t* block = selection.words_ + row.row / kDenseRows * kDenseWords;
    uint64_t k = row.row % kDenseRows;
    uint64_t seen = 0;
    uint64_t before = 0;
    uint64_t word = 0;
    for (uint32_t w = 1; w < kDenseWords - 1; ++w) {
      auto count = static_cast<uint64_t>(_mm_popcnt_u64(block[w]));
      seen += count;
      uint64_t past = (seen - k - 1) >> 63;  // 1 where k >= seen
      word += past;
      before += count & (0 - past);
    }
    uint64_t bit = _pdep_u64(uint64_t{1} << (k - before), block[1 + word]);
    row.row = static_cast<uint32_t>(block[0] + word * 64 + _tzcnt_u64(bit));
  }
}
#else
void Selection::SelectAllBmi2(std::span<const Selection>, std::span<RangeRow>) {}
#endif

uint32_t Selection::RunAt(uint32_t i, uint32_t limit) const {
  limit = std::min(limit, live_ - i);
  switch (kind_) {
    case SelectionKind::kAll: return limit;
    case SelectionKind::kBitmap: return OnesAt(words_, RowOf(i), limit);
    default: break;
  }
  uint32_t first = RowOf(i);
  uint32_t run = 1;
  while (run < limit) {
    // A dense block tells of many rows at once, and ends.
    uint32_t inside = (i + run) % kDenseRows;
    if (kind_ == SelectionKind::kDense && inside != 0) {
      const uint64_t* block = words_ + (i + run) / kDenseRows * kDenseWords;
      uint32_t bit = first + run - static_cast<uint32_t>(block[0]);
      uint32_t more = std::min(limit - run, kDenseRows - inside);
      uint32_t ones = bit < 448 ? OnesAt(block + 1, bit, std::min(more, 448 - bit)) : 0;
      run += ones;
      if (ones < more) break;
    } else if (RowOf(i + run) == first + run) {
      ++run;
    } else {
      break;
    }
  }
  return run;
}

bool Selection::Consistent() const {
  if (all()) return live_ == stored_;
  if (kind_ == SelectionKind::kBitmap) {
    uint64_t seen = 0;
    for (uint64_t w = 0; w < BitmapWords(stored_); ++w) {
      seen += static_cast<uint64_t>(std::popcount(words_[w]));
    }
    uint64_t tail = stored_ % 64 == 0 ? 0 : words_[stored_ / 64] >> (stored_ % 64);
    if (seen != live_ || tail != 0) return false;
    for (uint32_t i = 0; i < live_; i += kSampleRows) {
      if (rows_[i / kSampleRows] != SelectFrom(words_, 0, i)) return false;
    }
    return true;
  }
  if (kind_ == SelectionKind::kDense) {
    for (uint32_t i = 0; i < live_; i += kDenseRows) {
      const uint64_t* block = words_ + i / kDenseRows * kDenseWords;
      uint32_t count = 0;
      for (uint32_t w = 1; w < kDenseWords; ++w) {
        count += static_cast<uint32_t>(std::popcount(block[w]));
      }
      if (count != std::min(kDenseRows, live_ - i) || block[0] >= stored_) return false;
    }
  }
  for (uint32_t i = 0; i < live_; ++i) {
    if (RowOf(i) >= stored_ || (i > 0 && RowOf(i) <= RowOf(i - 1))) return false;
  }
  return true;
}

}  // namespace forebay::model
