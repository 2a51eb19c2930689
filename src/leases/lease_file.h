// Leases that the processes of one host share: plan::LeaseTable kept in a small SQLite
// database on a local disk. Every call is one transaction, so a process may be killed at
// any instruction: its leases run out, and their rows are given to another.
//
//   auto file = LeaseFile::Open({.path = "/tmp/job/leases", .epoch = "v7 seed 1 epoch 0",
//                                .rows = n, .holder = "rank 3"});
//   while (true) {
//     auto grant = file->Take();               // positions of the epoch's order
//     if (grant->finished) break;
//     …train on grant->lease, file->Acknowledge(fence, until) as it goes…
//   }
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "plan/lease_table.h"
#include "sqlite/database.h"

namespace forebay::leases {

struct LeaseProgress {
  uint64_t rows = 0;
  uint64_t acknowledged_rows = 0;
  uint64_t held_rows = 0;
  size_t lease_count = 0;
};

// Used by one thread at a time, in the process that opened it: a child that was forked
// opens its own.
class LeaseFile {
 public:
  struct Options {
    std::string path{};
    // Names the epoch: whatever its order depends on. Epochs in one file are independent.
    std::string epoch{};
    uint64_t rows = 0;
    uint64_t lease_rows = 4096;
    milliseconds lease_time{30'000};
    std::string holder{};
    milliseconds busy_timeout{5'000};
    const Clock* clock =
        &Clock::Real();  // monotonic, shared by all processes of the host
  };
  // kUnsupported on network file systems; kInvalid when the epoch is there with another
  // number of rows.
  static Result<std::unique_ptr<LeaseFile>> Open(Options options);

  // As in plan::LeaseTable. kUnavailable: the table was locked for longer than
  // busy_timeout; nothing was changed.
  Result<plan::LeaseGrant> Take();
  Status Acknowledge(uint64_t fence, uint64_t until);
  Status Renew(uint64_t fence);
  Status Release(uint64_t fence);
  Result<LeaseProgress> Progress();
  // How long until a time that Take named, on this file's clock; never negative.
  milliseconds Until(int64_t retry_ms) const;

 private:
  LeaseFile(Options options, sqlite::Database database);
  Status Prepare();
  // Runs `change` on the table in a transaction; keeps what it did if it says OK.
  Status Change(const std::function<Status(plan::LeaseTable&)>& change);
  Result<plan::LeaseTable> Load();
  Result<plan::LeaseState> LoadState();
  Status Save(const plan::LeaseState& state);
  int64_t NowMs() const;

  Options options_;
  sqlite::Database database_;
  std::string boot_;
  int pid_;
};

}  // namespace forebay::leases
