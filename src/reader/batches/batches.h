// Batches in order, whatever they are made of.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plan/sharding.h"
#include "reader/column.h"
#include "reader/remote_table.h"

namespace forebay::reader {

// Where the time of a step went. Steps are made several at a time: the first of them
// has it all.
struct StepTimes {
  RemoteTable::Times chunks;
  std::chrono::nanoseconds gather{0};
};

struct Batch {
  std::vector<Column> columns;  // in the order of the projection
  uint64_t row_count = 0;       // filler included
  uint64_t filler_count = 0;    // masked rows at the end (`pad`)
  uint64_t step = 0;            // of the rank, all workers counted
  uint64_t first_position = 0;  // in the order
  StepTimes times;
  std::shared_ptr<const model::Manifest> manifest;  // owns the columns' fields
};

class Batches {
 public:
  Batches() = default;
  virtual ~Batches() = default;
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  // nullopt after the last. After an error the same batch can be asked for again. One
  // thread at a time.
  virtual Result<std::optional<Batch>> Next() = 0;
};

// A worker's batches, from one of its steps on.
struct BatchShare {
  plan::ShardOptions shards{};
  uint64_t start_step = 0;
};
using BatchMaker = std::function<Result<std::unique_ptr<Batches>>(const BatchShare&)>;

}  // namespace forebay::reader
