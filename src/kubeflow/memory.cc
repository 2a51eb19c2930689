#include "kubeflow/memory.h"

#include <algorithm>

#include "base/size.h"

namespace forebay::kubeflow {

MemorySplit SplitMemory(uint64_t limit) {
  MemorySplit split;
  split.fill = std::clamp(limit / 8, 64 * kMiB, kGiB);
  // For connections, manifests, and what streams have on their way.
  uint64_t rest = std::max(limit / 16, 128 * kMiB);
  split.borrowed = rest / 4;
  uint64_t taken = split.fill + rest;
  split.store = limit > 2 * taken ? limit - taken : limit / 2;
  return split;
}

}  // namespace forebay::kubeflow
