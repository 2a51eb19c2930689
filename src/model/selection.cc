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
// Rows whose places are fetched into the core's cache together.
constexpr size_t kBlockRows = 64;

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

#if defined(__x86_64__)
const bool kHasBmi2 = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
const bool kHasBmi2 = false;
#endif

void AppendPacked(const std::vector<uint32_t>& rows, std::vector<uint64_t>* words) {
  size_t at = words->size();
  words->resize(at + PackedWords(rows.size()));
  if (!rows.empty()) std::memcpy(words->data() + at, rows.data(), rows.size() * 4);
}

// The rows that live; only every `stride`-th of them.
std::vector<uint32_t> RowsAtStride(const LiveRows& live, uint32_t stride) {
  std::vector<uint32_t> rows;
  uint64_t seen = 0;
  for (size_t w = 0; w < live.words.size(); ++w) {
    for (uint64_t word = live.words[w]; word != 0; word &= word - 1, ++seen) {
      if (seen % stride != 0) continue;
      rows.push_back(static_cast<uint32_t>(w * 64 + std::countr_zero(word)));
    }
  }
  return rows;
}

}  // namespace

Selection::Selection(std::span<const uint64_t> words, uint32_t live, uint32_t stored)
    : words_(words.data()), live_(live), stored_(stored) {
  const auto* rows = reinterpret_cast<const uint32_t*>(words_);
  if (IsList(live, stored)) {
    rows_ = rows;
  } else {
    samples_ = rows + BitmapWords(stored) * 2;
  }
}

bool Selection::IsList(uint32_t live, uint32_t stored) {
  return live < stored / kListDivisor;
}

uint64_t Selection::WordCount(uint32_t live, uint32_t stored) {
  if (IsList(live, stored)) return PackedWords(live);
  return BitmapWords(stored) +
         PackedWords((uint64_t{live} + kSampleRows - 1) / kSampleRows);
}

void Selection::Append(const LiveRows& live, std::vector<uint64_t>* words) {
  auto count = static_cast<uint32_t>(live.Count());
  if (IsList(count, static_cast<uint32_t>(live.row_count))) {
    AppendPacked(RowsAtStride(live, 1), words);
    return;
  }
  words->insert(words->end(), live.words.begin(), live.words.end());
  AppendPacked(RowsAtStride(live, kSampleRows), words);
}

uint32_t Selection::Select(uint32_t i) const {
  return SelectFrom(words_, samples_[i / kSampleRows], i % kSampleRows);
}

void Selection::ToStored(std::span<const Selection> selections,
                         std::span<RangeRow> rows) {
  for (size_t i = 0; i < rows.size(); i += kBlockRows) {
    auto block = rows.subspan(i, std::min(kBlockRows, rows.size() - i));
    for (RangeRow row : block) selections[row.source].PrefetchSample(row.row);
    for (RangeRow row : block) selections[row.source].PrefetchWord(row.row);
    kHasBmi2 ? SelectAllBmi2(selections, block) : SelectAll(selections, block);
  }
}

void Selection::SelectAll(std::span<const Selection> selections,
                          std::span<RangeRow> rows) {
  for (RangeRow& row : rows) row.row = selections[row.source].RowOf(row.row);
}

#if defined(__x86_64__)
// With the instructions made for it, which every server of the last ten years has, and
// no branch that depends on which of two words a row is in: three of four rows would be
// guessed wrong.
[[gnu::target("bmi,bmi2,popcnt")]] void Selection::SelectAllBmi2(
    std::span<const Selection> selections, std::span<RangeRow> rows) {
  for (RangeRow& row : rows) {
    const Selection& selection = selections[row.source];
    if (selection.samples_ == nullptr) {
      row.row = selection.RowOf(row.row);
      continue;
    }
    uint32_t from = selection.samples_[row.row / kSampleRows];
    uint32_t k = row.row % kSampleRows;
    const uint64_t* at = selection.words_ + from / 64;
    uint64_t word = *at & (~uint64_t{0} << (from % 64));
    auto count = static_cast<uint32_t>(_mm_popcnt_u64(word));
    bool second = k >= count;
    // There is a word after the last of the bitmap: that of the samples.
    word = second ? at[1] : word;
    k -= second ? count : 0;
    at += second ? 1 : 0;
    while ((count = static_cast<uint32_t>(_mm_popcnt_u64(word))) <= k) [[unlikely]] {
      k -= count;
      word = *++at;
    }
    uint64_t bit = _pdep_u64(uint64_t{1} << k, word);
    auto index = static_cast<uint32_t>(at - selection.words_);
    row.row = index * 64 + static_cast<uint32_t>(_tzcnt_u64(bit));
  }
}
#else
void Selection::SelectAllBmi2(std::span<const Selection>, std::span<RangeRow>) {}
#endif

uint32_t Selection::RunAt(uint32_t i, uint32_t limit) const {
  limit = std::min(limit, live_ - i);
  if (all()) return limit;
  uint32_t run = 1;
  if (rows_ != nullptr) {
    while (run < limit && rows_[i + run] == rows_[i] + run) ++run;
    return run;
  }
  uint32_t first = Select(i);
  uint32_t row = first + 1;
  while (row < stored_ && row - first < limit) {
    uint64_t dead = ~words_[row / 64] >> (row % 64);
    if (dead != 0) {
      row += static_cast<uint32_t>(std::countr_zero(dead));
      break;
    }
    row += 64 - row % 64;
  }
  return std::min({limit, row - first, stored_ - first});
}

bool Selection::Consistent() const {
  if (all()) return live_ == stored_;
  if (rows_ != nullptr) {
    for (uint32_t i = 0; i < live_; ++i) {
      if (rows_[i] >= stored_ || (i > 0 && rows_[i] <= rows_[i - 1])) return false;
    }
    return true;
  }
  uint64_t seen = 0;
  for (uint64_t w = 0; w < BitmapWords(stored_); ++w) {
    auto count = static_cast<uint64_t>(std::popcount(words_[w]));
    uint64_t sample = (seen + kSampleRows - 1) / kSampleRows;
    if (seen + count > live_) return false;
    if (sample * kSampleRows < seen + count) {
      auto k = static_cast<uint32_t>(sample * kSampleRows - seen);
      if (samples_[sample] != w * 64 + SelectInWord(words_[w], k)) return false;
    }
    seen += count;
  }
  if (stored_ % 64 != 0 && (words_[stored_ / 64] >> (stored_ % 64)) != 0) return false;
  return seen == live_;
}

}  // namespace forebay::model
