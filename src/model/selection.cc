#include "model/selection.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace forebay::model {
namespace {

// A list is used where it is smaller than a bitmap by far and no bitmap word is worth
// scanning.
constexpr uint32_t kListDivisor = 16;

constexpr uint32_t kBlockWords = sizeof(GapBlock) / 8;

uint32_t BlockShift(SelectionKind kind) {
  switch (kind) {
    case SelectionKind::kGaps256: return 8;
    case SelectionKind::kGaps128: return 7;
    case SelectionKind::kGaps64: return 6;
    default: return 0;
  }
}

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
    : kind_(shape.kind),
      block_shift_(BlockShift(shape.kind)),
      live_(shape.live),
      stored_(shape.stored),
      words_(words) {
  const auto* rows = reinterpret_cast<const uint32_t*>(words_);
  if (kind_ == SelectionKind::kList) rows_ = rows;
  if (kind_ == SelectionKind::kBitmap) rows_ = rows + BitmapWords(stored_) * 2;
}

uint64_t Selection::WordCount(Shape shape) {
  if (uint32_t shift = BlockShift(shape.kind); shift != 0) {
    return ((uint64_t{shape.live} + (1U << shift) - 1) >> shift) * kBlockWords;
  }
  if (shape.kind == SelectionKind::kAll) return 0;
  if (shape.kind == SelectionKind::kList) return PackedWords(shape.live);
  uint64_t samples = (uint64_t{shape.live} + kSampleRows - 1) / kSampleRows;
  return BitmapWords(shape.stored) + PackedWords(samples);
}

namespace {

// False, and nothing appended, where a block cannot hold what died between its rows.
bool AppendBlocks(std::span<const uint32_t> rows, uint32_t block_rows,
                  std::vector<uint64_t>* words) {
  size_t start = words->size();
  words->resize((start + kBlockWords - 1) / kBlockWords * kBlockWords);
  for (size_t i = 0; i < rows.size(); i += block_rows) {
    GapBlock block;
    if (!GapBlock::Make(rows.subspan(i, std::min<size_t>(block_rows, rows.size() - i)),
                        &block)) {
      words->resize(start);
      return false;
    }
    words->resize(words->size() + kBlockWords);
    std::memcpy(words->data() + words->size() - kBlockWords, &block, sizeof block);
  }
  return true;
}

}  // namespace

Selection::Appended Selection::Append(const LiveRows& live,
                                      std::vector<uint64_t>* words) {
  uint64_t before = words->size();
  std::vector<uint32_t> rows = RowsAtStride(live, 1);
  if (rows.size() < live.row_count / kListDivisor) {
    AppendPacked(rows, words);
    return {before, SelectionKind::kList};
  }
  for (SelectionKind kind :
       {SelectionKind::kGaps256, SelectionKind::kGaps128, SelectionKind::kGaps64}) {
    if (!AppendBlocks(rows, 1U << BlockShift(kind), words)) continue;
    auto live_rows = static_cast<uint32_t>(rows.size());
    return {words->size() - WordCount({kind, live_rows, 0}), kind};
  }
  words->insert(words->end(), live.words.begin(), live.words.end());
  AppendPacked(RowsAtStride(live, kSampleRows), words);
  return {before, SelectionKind::kBitmap};
}

uint32_t Selection::RowWithoutBlocks(uint32_t i) const {
  if (kind_ == SelectionKind::kAll) return i;
  if (kind_ == SelectionKind::kList) return rows_[i];
  return SelectFrom(words_, rows_[i / kSampleRows], i % kSampleRows);
}

uint32_t Selection::RunOverBlocks(uint32_t i, uint32_t limit) const {
  uint32_t first = RowOf(i);
  uint32_t run = 0;
  while (run < limit && RowOf(i + run) == first + run) {
    uint32_t k = RowInBlock(i + run);
    uint32_t inside = std::min((1U << block_shift_) - k, limit - run);
    uint32_t more = BlockOf(i + run).RunAt(k);
    run += std::min(more, inside);
    if (more < inside) break;
  }
  return run;
}

uint32_t Selection::RunAt(uint32_t i, uint32_t limit) const {
  limit = std::min(limit, live_ - i);
  if (block_shift_ != 0) return RunOverBlocks(i, limit);
  if (kind_ == SelectionKind::kAll) return limit;
  if (kind_ == SelectionKind::kBitmap) return OnesAt(words_, RowOf(i), limit);
  uint32_t run = 1;
  while (run < limit && rows_[i + run] == rows_[i] + run) ++run;
  return run;
}

bool Selection::ConsistentBitmap() const {
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

bool Selection::Consistent() const {
  if (all()) return live_ == stored_;
  if (kind_ == SelectionKind::kBitmap) return ConsistentBitmap();
  for (uint32_t i = 0; i < live_; ++i) {
    if (block_shift_ != 0 && !BlockOf(i).Ascends()) return false;
    if (RowOf(i) >= stored_ || (i > 0 && RowOf(i) <= RowOf(i - 1))) return false;
  }
  return true;
}

}  // namespace forebay::model
