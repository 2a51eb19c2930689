// The term: how often a head has begun to lead on a metadata store. It is the high half
// of every roster epoch and every fence, so that those of a later head are larger.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "meta/meta_store.h"

namespace forebay::cluster {

// A term must leave room for the sequence below it.
constexpr uint64_t kTermMax = (uint64_t{1} << 32) - 1;
// Larger ones that callers claim to have seen are not believed: however often they lie,
// as many terms are left.
constexpr uint64_t kSeenTermMax = kTermMax / 2;

constexpr uint64_t TermOf(uint64_t epoch) { return epoch >> 32; }

// The next term: larger than that of every head before on this store.
Result<uint64_t> NextTerm(meta::MetaStore& store);

struct TermRaise {
  uint64_t own = 0;   // of the head that asks
  uint64_t seen = 0;  // what nodes have heard of
};
// A term above both, for a head that leads already and whose store is older than what its
// nodes know (it was wiped, or restored from a backup). kUnavailable: the store knows a
// later head than this one. kInvalid: `seen` is
// above kSeenTermMax.
Result<uint64_t> RaiseTerm(meta::MetaStore& store, const TermRaise& raise);

}  // namespace forebay::cluster
