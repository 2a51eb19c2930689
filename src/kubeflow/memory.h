// What of a container's memory the table of a worker may take.
#pragma once

#include <cstdint>

namespace forebay::kubeflow {

struct MemorySplit {
  uint64_t store = 0;     // for chunks
  uint64_t fill = 0;      // for decoding, while the table is loaded
  uint64_t borrowed = 0;  // for chunks that the store does not take
};

// Of a container with this limit.
MemorySplit SplitMemory(uint64_t limit);

}  // namespace forebay::kubeflow
