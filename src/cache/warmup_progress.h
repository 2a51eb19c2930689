// How far a warm-up is, and how much of something the store holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace forebay::cache {

// Of a files version, rows are files.
struct WarmupProgress {
  uint64_t rows_done = 0;
  uint64_t row_count = 0;
  uint64_t chunks_done = 0;
  uint64_t chunk_count = 0;
  uint64_t bytes_stored = 0;
  uint64_t bytes_fetched = 0;
  uint64_t units_failed = 0;          // of files, chunks
  std::vector<std::string> failures;  // "uri: why", of each file that failed
};

struct WarmupCall {
  uint64_t client = 0;  // whose fills they are
  Deadline deadline = Deadline::Never();
  // Hears the progress and says whether to go on.
  std::function<bool(const WarmupProgress&)> report{};
};

struct Coverage {
  uint64_t chunk_count = 0;
  uint64_t chunks_stored = 0;
  uint64_t rows_stored = 0;
};

}  // namespace forebay::cache
