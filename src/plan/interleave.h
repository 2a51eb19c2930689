// Which source each slot of an endless sequence comes from, so that every source has its
// weight's share of every prefix, less than one slot off.
//
// How: weights become whole shares of a period. The source of each slot is the one that
// is due first among those that may have another slot without getting ahead (a quota
// rule: earliest deadline first). At the end of a period each source has had exactly its
// share, so one period is kept, and any slot is found at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace forebay::plan {

// Read-only after construction; safe to use from many threads.
class Interleave {
 public:
  static constexpr size_t kSourcesMax = 1024;
  // Weights whose ratio has a smaller period are met exactly, others to one in 2^20.
  static constexpr uint64_t kPeriodMax = uint64_t{1} << 20;

  // One weight per source, not negative, not all 0. Only their ratios count.
  static Result<Interleave> Make(std::span<const double> weights);

  uint64_t period() const { return pattern_.size(); }
  // Slots of each source in a period; they add up to it.
  const std::vector<uint64_t>& shares() const { return shares_; }

  // The source of each slot of a period.
  std::span<const uint16_t> pattern() const { return pattern_; }
  uint32_t SourceAt(uint64_t slot) const { return pattern_[slot % period()]; }
  // How many of the slots before `slot` come from each source.
  std::vector<uint64_t> CountsAt(uint64_t slot) const;
  // The least slot before which `source` has had `count` slots; UINT64_MAX if it never
  // will.
  uint64_t SlotAfter(uint32_t source, uint64_t count) const;

 private:
  explicit Interleave(std::vector<uint64_t> shares);
  void MakePattern(uint64_t period);
  void MakeMarks();

  std::vector<uint64_t> shares_;
  std::vector<uint16_t> pattern_;
  std::vector<uint32_t> marks_;  // counts of all sources before every stride_-th slot
  uint64_t stride_ = 0;
};

}  // namespace forebay::plan
