// Which stored rows of a range are rows of the version, and which row each is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "model/gap_block.h"
#include "model/live_rows.h"

namespace forebay::model {

// A row of one of several ranges: the n-th live one, or the n-th stored one.
struct RangeRow {
  uint32_t source = 0;  // which range
  uint32_t row = 0;

  friend bool operator==(const RangeRow&, const RangeRow&) = default;
};

// How a selection is written; the numbers are a format.
enum class SelectionKind : uint32_t {
  kAll = 0,      // every row lives: nothing is written
  kList = 1,     // the row numbers of the live rows
  kBitmap = 2,   // a bit a row, and the place of every 64th live row
  kGaps256 = 3,  // a GapBlock for every 256 live rows
  kGaps128 = 4,
  kGaps64 = 5,
};

// A view of a range's selection in the manifest, or of a range without one.
class Selection {
 public:
  Selection() = default;
  // All of `rows` live.
  explicit Selection(uint32_t rows) : live_(rows), stored_(rows) {}
  // `words` has WordCount() of them.
  struct Shape {
    SelectionKind kind = SelectionKind::kAll;
    uint32_t live = 0;
    uint32_t stored = 0;
  };
  Selection(const uint64_t* words, Shape shape);

  bool all() const { return kind_ == SelectionKind::kAll; }
  uint32_t live_rows() const { return live_; }
  uint32_t stored_rows() const { return stored_; }

  // The stored row of the live row `i`, which must be below live_rows().
  uint32_t RowOf(uint32_t i) const {
    return block_shift_ != 0 ? BlockOf(i).RowOf(RowInBlock(i)) : RowWithoutBlocks(i);
  }
  // Asks for the memory that RowOf(i) needs.
  void PrefetchRow(uint32_t i) const {
    if (block_shift_ != 0) {
      Prefetch(&BlockOf(i));
    } else if (kind_ == SelectionKind::kBitmap) {
      Prefetch(rows_ + i / kSampleRows);
    } else if (kind_ == SelectionKind::kList) {
      Prefetch(rows_ + i);
    }
  }
  // The same for what only the first tells the place of; a while after it.
  void PrefetchWord(uint32_t i) const {
    if (kind_ == SelectionKind::kBitmap) {
      Prefetch(words_ + rows_[i / kSampleRows] / 64);
    }
  }
  // How many live rows from `i` on lie side by side in the chunk, at most `limit`.
  uint32_t RunAt(uint32_t i, uint32_t limit) const;

  // Words that a selection takes.
  static uint64_t WordCount(Shape shape);
  // Appends a selection in the kind that suits it; not for ranges of which all rows live.
  // Blocks begin at a multiple of their size.
  struct Appended {
    uint64_t offset = 0;
    SelectionKind kind = SelectionKind::kAll;
  };
  static Appended Append(const LiveRows& live, std::vector<uint64_t>* words);
  // True when the words say what their counts claim.
  bool Consistent() const;

 private:
  static constexpr uint32_t kSampleRows = 64;

  const GapBlock& BlockOf(uint32_t i) const {
    return reinterpret_cast<const GapBlock*>(words_)[i >> block_shift_];
  }
  uint32_t RowInBlock(uint32_t i) const { return i & ((1U << block_shift_) - 1); }
  uint32_t RunOverBlocks(uint32_t i, uint32_t limit) const;

  uint32_t RowWithoutBlocks(uint32_t i) const;
  bool ConsistentBitmap() const;

  SelectionKind kind_ = SelectionKind::kAll;
  uint32_t block_shift_ = 0;  // live rows of a block: 2 to this; 0: there are no blocks
  uint32_t live_ = 0;
  uint32_t stored_ = 0;
  const uint64_t* words_ = nullptr;
  const uint32_t* rows_ = nullptr;  // the list, or every 64th live row of a bitmap
};

}  // namespace forebay::model
