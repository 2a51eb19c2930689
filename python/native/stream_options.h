// What a stream of batches is asked for by Python.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/order.h"
#include "plan/sharding.h"
#include "reader/buffer_pool.h"

namespace forebay::python {

struct StreamOptions {
  std::optional<std::vector<std::string>> columns;
  std::string shuffle = "sequential";
  std::string remainder = "drop";
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t batch_size = 0;
  uint64_t global_batch_size = 0;
  uint64_t world_size = 1;
  uint64_t rank = 0;
  uint64_t worker_count = 1;
  uint64_t worker = 0;
  uint64_t start_step = 0;
  uint64_t start_position = 0;  // rows of the epoch that all ranks consumed before
  uint64_t end_position = 0;    // where the rows that are wanted end; 0: with the epoch
  uint64_t window_ranges = plan::kWindowRangesDefault;
  bool writable = false;
  uint32_t threads = 0;  // that prefetch; 0: batches are made when they are asked for
  uint32_t ahead = 4;    // batches that are prefetched
  std::shared_ptr<reader::BufferPool> pool{};  // to gather into; null: the table's
};

// The order these options ask for; its rows and ranges are the table's.
Result<plan::Order::Options> OrderOptions(const StreamOptions& options);
// The share these options ask for; its rows are the table's.
Result<plan::ShardOptions> ShardOptionsOf(const StreamOptions& options);

// One thread at a time; a second one gets an error, not a wait.

}  // namespace forebay::python
