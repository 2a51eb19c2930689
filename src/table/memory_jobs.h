// Jobs that reserve their memory before they start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "base/thread_pool.h"

namespace forebay::table {

struct MemoryJobs {
  size_t count = 0;
  // What job `i` takes at its peak, as far as can be told.
  std::function<uint64_t(size_t i)> bytes;
  // Must be able to run again after kFull.
  std::function<Status(size_t i)> run;
  ThreadPool* pool = nullptr;      // nullptr: the calling thread alone
  MemoryBudget* budget = nullptr;  // nullptr: nobody counts
  Deadline deadline = Deadline::Never();
};

// Runs all jobs on the pool and the calling thread. A job for which the pool had less
// memory than estimated (kFull) runs again by itself, while no other job of the budget
// runs; what does not fit then is kFull, with the figures. Returns the first failure by
// index; after a failure no more jobs start. Only the calling thread waits for memory:
// threads of the pool never do, since jobs that hold memory may need them.
Status RunMemoryJobs(const MemoryJobs& jobs);

// How much of a pool's cap jobs may reserve. The rest is for estimates that are a little
// low, and for the tails of files that jobs hold while they wait.
inline uint64_t ReservableBytes(uint64_t cap_bytes) { return cap_bytes - cap_bytes / 16; }

// The kFull of a job that ran alone.
Status TooLargeForMemory(const Status& failure);

}  // namespace forebay::table
