// Which stored rows of a range are rows of the version, and which row each is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/live_rows.h"

namespace forebay::model {

// A row of one of several ranges: the n-th live one, or the n-th stored one.
struct RangeRow {
  uint32_t source = 0;  // which range
  uint32_t row = 0;

  friend bool operator==(const RangeRow&, const RangeRow&) = default;
};

// A view of a range's selection in the manifest, or of a range without one. Two layouts,
// chosen by how many rows live: a bitmap with the place of every 64th live row, or, where
// few live, their row numbers.
class Selection {
 public:
  Selection() = default;
  // All of `rows` live.
  explicit Selection(uint32_t rows) : live_(rows), stored_(rows) {}
  Selection(std::span<const uint64_t> words, uint32_t live, uint32_t stored);

  bool all() const { return words_ == nullptr; }
  uint32_t live_rows() const { return live_; }
  uint32_t stored_rows() const { return stored_; }

  // The stored row of the live row `i`, which must be below live_rows().
  uint32_t RowOf(uint32_t i) const {
    if (all()) return i;
    return rows_ != nullptr ? rows_[i] : Select(i);
  }
  // In place: live rows become stored ones. Many at once are faster than one by one: the
  // memory that each needs is fetched while others are looked at.
  static void ToStored(std::span<const Selection> selections, std::span<RangeRow> rows);
  // How many live rows from `i` on lie side by side in the chunk, at most `limit`.
  uint32_t RunAt(uint32_t i, uint32_t limit) const;

  // Words that a selection of so many rows takes.
  static uint64_t WordCount(uint32_t live, uint32_t stored);
  // Appends a selection; not for ranges of which all rows live.
  static void Append(const LiveRows& live, std::vector<uint64_t>* words);
  // True when the words say what their counts claim.
  bool Consistent() const;

 private:
  static constexpr uint32_t kSampleRows = 64;

  static bool IsList(uint32_t live, uint32_t stored);
  uint32_t Select(uint32_t i) const;
  void PrefetchSample(uint32_t i) const {
    if (!all()) {
      __builtin_prefetch(rows_ != nullptr ? rows_ + i : samples_ + i / kSampleRows);
    }
  }
  void PrefetchWord(uint32_t i) const {
    if (samples_ != nullptr) {
      __builtin_prefetch(words_ + samples_[i / kSampleRows] / 64);
    }
  }
  static void SelectAll(std::span<const Selection> selections, std::span<RangeRow> rows);
  static void SelectAllBmi2(std::span<const Selection> selections,
                            std::span<RangeRow> rows);

  const uint64_t* words_ = nullptr;  // the bitmap, or the list's first word
  const uint32_t* rows_ = nullptr;   // the list
  const uint32_t* samples_ = nullptr;
  uint32_t live_ = 0;
  uint32_t stored_ = 0;
};

}  // namespace forebay::model
