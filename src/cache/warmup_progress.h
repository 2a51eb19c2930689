// How far a warm-up is, and how much of something the store holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forebay::cache {

// Of a files version, rows are files.
struct WarmupProgress {
  uint64_t rows_done = 0;
  uint64_t row_count = 0;
  uint64_t chunks_done = 0;
  uint64_t chunk_count = 0;
  uint64_t bytes_stored = 0;
  uint64_t bytes_fetched = 0;
  std::vector<std::string> failures;  // "uri: why", each unit once
};

struct Coverage {
  uint64_t chunk_count = 0;
  uint64_t chunks_stored = 0;
  uint64_t rows_stored = 0;
};

}  // namespace forebay::cache
