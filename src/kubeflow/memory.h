// How much memory a worker's container may use, and what of it the table may take.
#pragma once

#include <cstdint>
#include <string>

namespace forebay::kubeflow {

struct MemorySplit {
  uint64_t store = 0;  // for chunks
  uint64_t fill = 0;   // for decoding, while the table is loaded
};

// Of a container with this limit.
MemorySplit SplitMemory(uint64_t limit);

// The limit of this process's cgroup (version 2 or 1), or the machine's memory where it
// has none. `root` is "/" but in tests.
uint64_t MemoryLimit(const std::string& root = "/");

}  // namespace forebay::kubeflow
