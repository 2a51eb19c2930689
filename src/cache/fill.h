// One fill: decodes a unit once and publishes the chunks that are missing.
#pragma once

#include <arrow/memory_pool.h>

#include <chrono>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cache/version.h"
#include "table/files/footer_cache.h"

namespace forebay::cache {

struct FillChunk {
  model::ChunkRef ref;
  Hash128 key;
};

struct FillRequest {
  View view;
  uint32_t unit = 0;
  std::vector<FillChunk> chunks;  // sorted by range
};

// Where the time of a fill went until a chunk was there.
struct FillTimes {
  std::chrono::nanoseconds peer{0};
  std::chrono::nanoseconds source{0};
  std::chrono::nanoseconds decode{0};  // and encoding, storing, waiting for memory
};

// Without fills, before memory is given back.
constexpr milliseconds kFillsIdle{1000};

using Reservation = MemoryBudget::Reservation;

// Waits until a fill may use so much memory, instead of what it held before.
struct MemoryNeed {
  uint64_t bytes = 0;
  bool alone = false;
  Reservation* instead_of = nullptr;
};
using ReserveMemory = std::function<Result<Reservation>(const MemoryNeed& need)>;

struct FillContext {
  storage::Store* store = nullptr;
  arrow::MemoryPool* memory = nullptr;
  ThreadPool* pool = nullptr;
  table::FooterCache* footers = nullptr;
  Deadline deadline = Deadline::Never();
  ReserveMemory reserve{};  // before the source is read; none: nobody counts
  // Called for each chunk as soon as it is published.
  std::function<void(const FillChunk&, const storage::Chunk&, FillTimes)> on_chunk;
};

// Every chunk was published and reported, or the error names what failed. Memory is
// reserved for reading the source alone, never while waiting for peers. If it turns out
// that the unit takes more than was estimated, and more than there is, it is decoded once
// more while nothing else is.
Status Fill(const FillRequest& request, const FillContext& context);

}  // namespace forebay::cache
