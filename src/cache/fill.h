// One fill: decodes a unit once and publishes the chunks that are missing.
#pragma once

#include <arrow/memory_pool.h>

#include <chrono>
#include <functional>
#include <vector>

#include "base/clock.h"
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
  std::chrono::nanoseconds decode{0};  // and encoding, and storing
};

// Without fills, before memory is given back.
constexpr milliseconds kFillsIdle{1000};

struct FillContext {
  storage::Store* store = nullptr;
  arrow::MemoryPool* memory = nullptr;
  ThreadPool* pool = nullptr;
  table::FooterCache* footers = nullptr;
  Deadline deadline = Deadline::Never();
  // Called for each chunk as soon as it is published.
  std::function<void(const FillChunk&, const storage::Chunk&, FillTimes)> on_chunk;
};

// Every chunk was published and reported, or the error names what failed.
Status Fill(const FillRequest& request, const FillContext& context);

}  // namespace forebay::cache
