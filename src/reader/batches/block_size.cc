#include "reader/batches/block_size.h"

#include <algorithm>

namespace forebay::reader {

BlockSize::BlockSize(uint64_t step_rows, std::optional<uint64_t> row_bytes, Limits limits)
    : step_rows_(std::max<uint64_t>(step_rows, 1)),
      fixed_(row_bytes.has_value()),
      limits_(limits),
      row_bytes_(row_bytes.value_or(0)) {
  if (fixed_) steps_ = Fitting();
}

uint64_t BlockSize::StepBytes() const {
  return std::max<uint64_t>(row_bytes_, 1) * step_rows_;
}

uint64_t BlockSize::Fitting() const {
  uint64_t most = std::max<uint64_t>(limits_.rows / step_rows_, 1);
  return std::clamp<uint64_t>(limits_.bytes / StepBytes(), 1, most);
}

uint64_t BlockSize::blocks() const {
  if (!fixed_ && row_bytes_ == 0) return 1;
  return std::clamp<uint64_t>(kAheadBytes / (steps_ * StepBytes()), 2, kBlocksMax);
}

// Larger rows count at once, smaller ones bit by bit.
void BlockSize::Learn(uint64_t rows, uint64_t bytes) {
  if (fixed_ || rows == 0) return;
  uint64_t seen = std::max<uint64_t>((bytes + rows - 1) / rows, 1);
  row_bytes_ = std::max(seen, (row_bytes_ * 7 + seen) / 8);
  steps_ = std::min(Fitting(), steps_ * 2);
}

}  // namespace forebay::reader
