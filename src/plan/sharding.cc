#include "plan/sharding.h"

#include <fmt/format.h>

#include <algorithm>

namespace forebay::plan {
namespace {

// Far above anything real, far below where rows + batch could overflow.
constexpr uint64_t kBatchMax = uint64_t{1} << 40;

Status CheckPosition(const ShardOptions& o) {
  if (o.start_position <= o.rows) return Status::OK();
  return Status::Invalid(
      fmt::format("Position {} lies past the end: an epoch has {} rows. Is the cursor of "
                  "another version?",
                  o.start_position, o.rows));
}

Status CheckBatch(const ShardOptions& o) {
  if (o.batch_size == 0 && o.global_batch_size == 0) {
    return Status::Invalid("The batch size is 0: give at least 1.");
  }
  if (o.batch_size != 0 && o.global_batch_size != 0) {
    return Status::Invalid(
        "Both batch_size and global_batch_size are given: give only one of them.");
  }
  uint64_t size = std::max(o.batch_size, o.global_batch_size);
  uint64_t ranks = o.batch_size != 0 ? o.world_size : 1;
  if (size > kBatchMax / ranks) {
    return Status::Invalid(fmt::format(
        "A batch of {} rows is too large: the limit is {} for all ranks together.", size,
        kBatchMax));
  }
  if (o.global_batch_size != 0 && o.global_batch_size < o.world_size) {
    return Status::Invalid(fmt::format(
        "A global batch of {} rows leaves some of {} ranks without any: give a "
        "global_batch_size of at least the world size.",
        o.global_batch_size, o.world_size));
  }
  return Status::OK();
}

Status CheckRanks(const ShardOptions& o) {
  if (o.world_size == 0) return Status::Invalid("The world size is 0: give at least 1.");
  if (o.world_size > UINT32_MAX || o.worker_count > UINT32_MAX) {
    return Status::Invalid("There can be at most 2^32 - 1 ranks and workers.");
  }
  if (o.rank >= o.world_size) {
    return Status::Invalid(
        fmt::format("Rank {} does not exist in a world of {}: ranks count from 0 to {}.",
                    o.rank, o.world_size, o.world_size - 1));
  }
  if (o.worker_count == 0) {
    return Status::Invalid("The worker count is 0: give at least 1.");
  }
  if (o.worker >= o.worker_count) {
    return Status::Invalid(
        fmt::format("Worker {} does not exist among {}: workers count from 0 to {}.",
                    o.worker, o.worker_count, o.worker_count - 1));
  }
  return Status::OK();
}

uint64_t MulDiv(uint64_t x, uint64_t y, uint64_t divisor) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * y / divisor);
}

}  // namespace

std::string_view RemainderName(Remainder remainder) {
  switch (remainder) {
    case Remainder::kDrop: return "drop";
    case Remainder::kPad: return "pad";
    case Remainder::kWrap: return "wrap";
    case Remainder::kKeep: return "keep";
  }
  return "unknown";
}

Result<Remainder> ParseRemainder(std::string_view name) {
  for (Remainder remainder :
       {Remainder::kDrop, Remainder::kPad, Remainder::kWrap, Remainder::kKeep}) {
    if (name == RemainderName(remainder)) return remainder;
  }
  return Status::Invalid(fmt::format(
      "There is no remainder \"{}\": use \"drop\", \"pad\", \"wrap\" or \"keep\".",
      name));
}

Result<Shards> Shards::Make(ShardOptions options) {
  FB_RETURN_NOT_OK(CheckRanks(options));
  FB_RETURN_NOT_OK(CheckBatch(options));
  FB_RETURN_NOT_OK(CheckPosition(options));
  return Shards(options);
}

Shards::Shards(ShardOptions options) : options_(options) {
  global_batch_ = options.global_batch_size != 0
                      ? options.global_batch_size
                      : options.batch_size * options.world_size;
  steps_ = rows_left() / global_batch_;
  if (rest() != 0 && options.remainder != Remainder::kDrop) ++steps_;
}

uint64_t Shards::slot_begin() const {
  return MulDiv(options_.rank, global_batch_, options_.world_size);
}

uint64_t Shards::slot_end() const {
  return MulDiv(options_.rank + 1, global_batch_, options_.world_size);
}

uint64_t Shards::step_count() const {
  if (options_.remainder != Remainder::kKeep) return steps_;
  bool left_out = rest() != 0 && rest() <= slot_begin();
  return left_out ? steps_ - 1 : steps_;
}

uint64_t Shards::worker_step_count() const {
  uint64_t steps = step_count();
  if (steps <= options_.worker) return 0;
  return (steps - options_.worker - 1) / options_.worker_count + 1;
}

uint64_t Shards::dropped_rows() const {
  return options_.remainder == Remainder::kDrop ? rest() : 0;
}

StepSlice Shards::At(uint64_t step) const {
  uint64_t first = options_.start_position + step * global_batch_ + slot_begin();
  uint64_t slots = slot_end() - slot_begin();
  if (options_.remainder == Remainder::kWrap) return {.first = first, .count = slots};
  first = std::min(first, options_.rows);
  uint64_t count = std::min(slots, options_.rows - first);
  bool padded = options_.remainder == Remainder::kPad;
  return {.first = first, .count = count, .filler = padded ? slots - count : 0};
}

uint64_t Shards::PositionAfter(uint64_t step_count) const {
  if (step_count >= steps_ && options_.remainder != Remainder::kDrop) {
    return options_.rows;
  }
  return options_.start_position + std::min(step_count, steps_) * global_batch_;
}

}  // namespace forebay::plan
