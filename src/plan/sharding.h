// Which positions of an order a rank, or one worker of a rank, delivers at each step, and
// what happens to the rows at the end that fill no whole global batch (docs/orders.md).
//
// Steps are counted from where a job starts or goes on, position P: global batch s is the
// positions [P + s·G, P + (s+1)·G). Rank r of W takes its slots [⌊r·G/W⌋, ⌊(r+1)·G/W⌋);
// worker w of n takes the steps ≡ w mod n. So the sequence of global batches depends on G
// alone, and a job may go on at any position with other ranks, workers and batch sizes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace forebay::plan {

enum class Remainder : uint8_t {
  kDrop = 0,  // left out this epoch, and counted
  kPad = 1,   // delivered; short ranks get masked filler
  kWrap = 2,  // delivered, followed by the first rows again
  kKeep = 3,  // delivered exactly once, nothing added; ranks may differ by one step
};

std::string_view RemainderName(Remainder remainder);
// "drop", "pad", "wrap" or "keep"; anything else is an error that lists them.
Result<Remainder> ParseRemainder(std::string_view name);

struct ShardOptions {
  uint64_t rows = 0;        // of the epoch, or as many of its first ones as are delivered
  uint64_t batch_size = 0;  // per rank; or give
  uint64_t global_batch_size = 0;  // of all ranks together; exactly one of the two
  uint64_t world_size = 1;
  uint64_t rank = 0;
  uint64_t worker_count = 1;
  uint64_t worker = 0;
  Remainder remainder = Remainder::kDrop;
  // Rows of the epoch that all ranks together have consumed before: the cursor's
  // position.
  uint64_t start_position = 0;
};

// What one rank delivers at one step: the positions [first, first + count), taken modulo
// the row count (only `wrap` goes past it), then `filler` masked rows (only `pad`).
struct StepSlice {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t filler = 0;

  friend bool operator==(const StepSlice&, const StepSlice&) = default;
};

// A value; all methods are arithmetic in constant time.
class Shards {
 public:
  static Result<Shards> Make(ShardOptions options);

  const ShardOptions& options() const { return options_; }
  uint64_t global_batch_size() const { return global_batch_; }
  // Global batches from start_position on, a short last one included where it is
  // delivered.
  uint64_t total_step_count() const { return steps_; }
  // What is left for this rank: the same on every rank, except with `keep`.
  uint64_t step_count() const;
  // Of this worker of this rank.
  uint64_t worker_step_count() const;
  // The rank's step that is the worker's i-th.
  uint64_t WorkerStep(uint64_t i) const {
    return options_.worker + i * options_.worker_count;
  }
  // Rows of the epoch that no rank delivers (only `drop` leaves any).
  uint64_t dropped_rows() const;

  // `step` below step_count(), counted over all workers of the rank.
  StepSlice At(uint64_t step) const;
  // Rows of the epoch consumed once every rank has delivered `step_count` steps: where
  // the job goes on. At most the number of rows, however the last batch was filled up.
  uint64_t PositionAfter(uint64_t step_count) const;

 private:
  explicit Shards(ShardOptions options);
  uint64_t rows_left() const { return options_.rows - options_.start_position; }
  // Rows at the end that fill no global batch.
  uint64_t rest() const { return rows_left() % global_batch_; }
  // The rank's slots of every global batch.
  uint64_t slot_begin() const;
  uint64_t slot_end() const;

  ShardOptions options_;
  uint64_t global_batch_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace forebay::plan
