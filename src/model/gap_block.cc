#include "model/gap_block.h"

namespace forebay::model {

bool GapBlock::Make(std::span<const uint32_t> live, GapBlock* block) {
  block->first = live.front();
  std::fill_n(block->gaps, kGaps, kNone);
  if (live.back() - live.front() + 1 - live.size() > kGaps) return false;
  int8_t* gap = block->gaps;
  for (uint32_t i = 1; i < live.size(); ++i) {
    gap = std::fill_n(gap, live[i] - live[i - 1] - 1, static_cast<int8_t>(i - 1 - 128));
  }
  return true;
}

}  // namespace forebay::model
