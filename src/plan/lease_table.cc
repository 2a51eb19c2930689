#include "plan/lease_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace forebay::plan {

Result<LeaseTable> LeaseTable::Make(Options options, LeaseState state) {
  if (options.lease_rows == 0 || options.lease_ms <= 0) {
    return Status::Invalid("A lease needs at least one row and one millisecond.");
  }
  uint64_t end = 0;
  bool adds_up = state.frontier <= options.rows;
  for (const Lease& lease : state.held) {
    adds_up = adds_up && lease.first >= end && lease.count > 0 &&
              lease.first <= state.frontier &&
              lease.count <= state.frontier - lease.first &&
              lease.fence < state.next_fence;
    end = lease.first + lease.count;
  }
  if (!adds_up) {
    return Status::Corrupt(fmt::format(
        "the leases do not add up: frontier={} rows={} held={}; is the table of another "
        "epoch?",
        state.frontier, options.rows, state.held.size()));
  }
  return LeaseTable(options, std::move(state));
}

uint64_t LeaseTable::acknowledged_rows() const {
  uint64_t rows = state_.frontier;
  for (const Lease& lease : state_.held) rows -= lease.count;
  return rows;
}

LeaseGrant LeaseTable::Take(const std::string& holder, int64_t now_ms) {
  auto grant = [&](Lease& lease) {
    lease.fence = state_.next_fence++;
    lease.holder = holder;
    lease.expires_ms = now_ms + options_.lease_ms;
    return LeaseGrant{.lease = lease};
  };
  auto expired = std::ranges::find_if(
      state_.held, [now_ms](const Lease& lease) { return lease.expires_ms <= now_ms; });
  if (expired != state_.held.end()) {
    // An older grant may have had more rows than are given now.
    if (expired->count > options_.lease_rows) {
      Lease rest{
          .fence = state_.next_fence++,  // the old holder's word is void for it too
          .first = expired->first + options_.lease_rows,
          .count = expired->count - options_.lease_rows,
          .expires_ms = expired->expires_ms};
      expired->count = options_.lease_rows;
      expired = state_.held.insert(expired + 1, rest) - 1;
    }
    return grant(*expired);
  }
  if (uint64_t left = options_.rows - state_.frontier; left > 0) {
    Lease fresh{.first = state_.frontier, .count = std::min(left, options_.lease_rows)};
    state_.frontier += fresh.count;
    return grant(state_.held.emplace_back(fresh));
  }
  if (state_.held.empty()) return {.finished = true};
  return {.retry_ms = std::ranges::min(state_.held, {}, &Lease::expires_ms).expires_ms};
}

Result<Lease*> LeaseTable::Find(uint64_t fence) {
  auto found = std::ranges::find(state_.held, fence, &Lease::fence);
  if (found != state_.held.end()) return &*found;
  return Status::Changed(
      fmt::format("lease {} is no longer held: its time ran out and its rows were given "
                  "to another, or they are all acknowledged; drop them and take others",
                  fence));
}

Status LeaseTable::Acknowledge(uint64_t fence, uint64_t until, int64_t now_ms) {
  FB_ASSIGN_OR_RETURN(Lease * lease, Find(fence));
  uint64_t end = lease->first + lease->count;
  if (until < lease->first || until > end) {
    return Status::Invalid(
        fmt::format("lease {} has positions {} to {}: {} is none of them", fence,
                    lease->first, end, until));
  }
  lease->first = until;
  lease->count = end - until;
  lease->expires_ms = now_ms + options_.lease_ms;
  if (lease->count == 0) {
    state_.held.erase(state_.held.begin() + (lease - state_.held.data()));
  }
  return Status::OK();
}

Status LeaseTable::Renew(uint64_t fence, int64_t now_ms) {
  FB_ASSIGN_OR_RETURN(Lease * lease, Find(fence));
  lease->expires_ms = now_ms + options_.lease_ms;
  return Status::OK();
}

Status LeaseTable::Release(uint64_t fence, int64_t now_ms) {
  FB_ASSIGN_OR_RETURN(Lease * lease, Find(fence));
  lease->expires_ms = now_ms;
  // A number nobody has: who released a lease cannot acknowledge it any more.
  lease->fence = state_.next_fence++;
  lease->holder.clear();
  return Status::OK();
}

void LeaseTable::ExpireAll(int64_t now_ms) {
  for (Lease& lease : state_.held) lease.expires_ms = now_ms;
}

}  // namespace forebay::plan
