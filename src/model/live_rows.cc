#include "model/live_rows.h"

#include <bit>
#include <cstddef>

namespace forebay::model {

void LiveRows::Materialize() {
  if (!words.empty() || row_count == 0) return;
  words.assign((row_count + 63) / 64, ~uint64_t{0});
  if (row_count % 64 != 0) words.back() = (uint64_t{1} << (row_count % 64)) - 1;
}

uint64_t LiveRows::Count() const {
  if (all()) return row_count;
  uint64_t count = 0;
  for (uint64_t word : words) count += static_cast<uint64_t>(std::popcount(word));
  return count;
}

void LiveRows::Append(const LiveRows& next) {
  if (all() && next.all()) {
    row_count += next.row_count;
    return;
  }
  LiveRows tail = next;
  tail.Materialize();
  Materialize();
  uint64_t shift = row_count % 64;
  uint64_t at = row_count / 64;
  row_count += next.row_count;
  words.resize((row_count + 63) / 64);
  for (size_t i = 0; i < tail.words.size(); ++i) {
    words[at + i] |= tail.words[i] << shift;
    uint64_t high = shift == 0 ? 0 : tail.words[i] >> (64 - shift);
    if (high != 0) words[at + i + 1] |= high;
  }
}

LiveRows LiveRows::Slice(uint64_t first, uint64_t count) const {
  LiveRows out{.row_count = count};
  if (all() || count == 0) return out;
  out.words.resize((count + 63) / 64);
  uint64_t shift = first % 64;
  for (size_t i = 0; i < out.words.size(); ++i) {
    size_t from = first / 64 + i;
    out.words[i] = words[from] >> shift;
    if (shift != 0 && from + 1 < words.size()) {
      out.words[i] |= words[from + 1] << (64 - shift);
    }
  }
  if (count % 64 != 0) out.words.back() &= (uint64_t{1} << (count % 64)) - 1;
  if (out.Count() == count) out.words.clear();
  return out;
}

}  // namespace forebay::model
