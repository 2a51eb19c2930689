// Which row ranges an epoch needs when: what prefetch follows and eviction goes by.
//
// Positions here run on into the epoch after this one: rows() + p is position p of that
// epoch. So what is not needed again in this epoch still has a next use, and the one that
// is farthest away can be told.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/order.h"

namespace forebay::plan {

// A value; read-only, safe to use from many threads. Ranges are numbers of the manifest.
class LookAhead {
 public:
  struct Options {
    Order order;
    std::optional<Order> next{};  // of the epoch after this one, if there will be one
    std::shared_ptr<const RangeLayout> layout{};  // of the same version
  };
  explicit LookAhead(Options options) : options_(std::move(options)) {}

  uint64_t rows() const { return options_.order.rows(); }

  // The ranges of the rows at [first, first + count), each once, in the order of their
  // first row there. Exact. Costs a look at every row, but for `sequential`.
  std::vector<uint32_t> RangesAt(uint64_t first, uint64_t count) const;

  // The ranges to have at hand at `position` and after it, each once, in the order they
  // are needed, `limit` at most. `window` needs all ranges of a window from its first
  // position on; the window of `position` comes first.
  std::vector<uint32_t> NextRanges(uint64_t position, size_t limit) const;

  // From which position, `position` or later, a range has to be at hand; nullopt when
  // never again. Cheap enough to rank all ranges of a store: `window` tells the start of
  // the window, `global`, where every range is always in use, the position itself.
  std::optional<uint64_t> NeededFrom(uint32_t range, uint64_t position) const;
  // The position from which on this epoch does not need the range any more (0 for a range
  // without rows).
  uint64_t NeededUntil(uint32_t range) const;
  // The first position, `position` or later, whose row lies in the range; nullopt when
  // there is none. Exact. Costs up to a few nanoseconds per row of the range.
  std::optional<uint64_t> NextUse(uint32_t range, uint64_t position) const;

 private:
  struct Span {
    uint64_t begin;
    uint64_t end;
  };
  // The positions of an epoch between which a live range is needed.
  Span NeededIn(const Order& order, uint32_t live) const;
  std::optional<uint64_t> FirstUse(const Order& order, uint32_t live,
                                   uint64_t from) const;
  void AddNextRanges(const Order& order, uint64_t position, size_t limit,
                     std::vector<uint32_t>* ranges) const;

  Options options_;
};

}  // namespace forebay::plan
