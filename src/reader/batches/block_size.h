// How many steps of rows are gathered together, in one question to the node's peers or in
// one pass over the table, and how many such blocks are under way. Where the schema does
// not tell how large rows are, that is learnt from those that came. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace forebay::reader {

class BlockSize {
 public:
  static constexpr uint64_t kBytes = uint64_t{4} << 20;        // of a block
  static constexpr uint64_t kAheadBytes = uint64_t{16} << 20;  // of all under way
  static constexpr uint64_t kBlocksMax = 8;
  static constexpr uint64_t kRowsMax = uint64_t{1} << 17;

  struct Limits {
    uint64_t bytes = kBytes;
    uint64_t rows = kRowsMax;
  };
  // Of a step. No bytes: rows differ.
  BlockSize(uint64_t step_rows, std::optional<uint64_t> row_bytes, Limits limits);
  BlockSize(uint64_t step_rows, std::optional<uint64_t> row_bytes)
      : BlockSize(step_rows, row_bytes, Limits()) {}

  uint64_t steps() const { return steps_; }
  uint64_t blocks() const;
  // Rows that came.
  void Learn(uint64_t rows, uint64_t bytes);

 private:
  uint64_t StepBytes() const;
  uint64_t Fitting() const;  // steps

  const uint64_t step_rows_;
  const bool fixed_;
  const Limits limits_;
  uint64_t row_bytes_ = 0;  // 0: not known yet
  uint64_t steps_ = 1;
};

}  // namespace forebay::reader
