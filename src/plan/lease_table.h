// Who works on which positions of an epoch, where ranks take work instead of having fixed
// shares. The pure part: time comes from the caller, and keeping the state is up to who
// owns it (leases/ keeps it in SQLite).
//
// Positions below the frontier were given out. Those of them that nobody holds are
// acknowledged: so each row is counted once, and the state is as small as the number of
// holders. Every grant has a new number, its fence; whoever comes back with a number that
// is no longer in the table lost the lease, and is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace forebay::plan {

// Positions [first, first + count) that were given and not acknowledged yet.
struct Lease {
  uint64_t fence = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  int64_t expires_ms = 0;  // of the caller's clock
  std::string holder{};    // for people; only the fence decides

  friend bool operator==(const Lease&, const Lease&) = default;
};

struct LeaseState {
  uint64_t frontier = 0;
  uint64_t next_fence = 1;
  std::vector<Lease>
      held{};  // ascending by position, not overlapping, below the frontier

  friend bool operator==(const LeaseState&, const LeaseState&) = default;
};

// What came of asking for work.
struct LeaseGrant {
  std::optional<Lease> lease{};
  // Without a lease: all rows are acknowledged, or others hold the rest until then at the
  // latest.
  bool finished = false;
  int64_t retry_ms = 0;
};

class LeaseTable {
 public:
  struct Options {
    uint64_t rows = 0;
    uint64_t lease_rows = 1;  // of a grant, at most
    int64_t lease_ms = 0;     // how long a holder may be silent
  };
  // kCorrupt when the state does not add up.
  static Result<LeaseTable> Make(Options options, LeaseState state);

  const LeaseState& state() const { return state_; }
  uint64_t acknowledged_rows() const;
  bool finished() const { return acknowledged_rows() == options_.rows; }

  // What an expired lease left over first, lowest positions first; then fresh positions.
  LeaseGrant Take(const std::string& holder, int64_t now_ms);
  // The rows of a lease before position `until` are done. Lasts as a renewal too. Refused
  // (kChanged) once the lease was given to another, even if that one died as well. A
  // lease that expired but was given to nobody is still good.
  Status Acknowledge(uint64_t fence, uint64_t until, int64_t now_ms);
  // Still at work. Refused as above.
  Status Renew(uint64_t fence, int64_t now_ms);
  // Gives the rest back at once.
  Status Release(uint64_t fence, int64_t now_ms);
  // All holders are known to be gone (the host was started anew, say).
  void ExpireAll(int64_t now_ms);

 private:
  LeaseTable(Options options, LeaseState state)
      : options_(options), state_(std::move(state)) {}
  Result<Lease*> Find(uint64_t fence);

  Options options_;
  LeaseState state_;
};

}  // namespace forebay::plan
