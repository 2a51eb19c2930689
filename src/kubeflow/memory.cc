#include "kubeflow/memory.h"

#include <algorithm>
#include <fstream>

#include "base/size.h"

namespace forebay::kubeflow {
namespace {

// 0: not a number ("max"), or no such file.
uint64_t NumberIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? number : 0;
}

uint64_t MachineMemory(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  uint64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes >> unit) {
    if (name == "MemTotal:") return kilobytes * kKiB;
  }
  return kGiB;
}

}  // namespace

MemorySplit SplitMemory(uint64_t limit) {
  MemorySplit split;
  split.fill = std::clamp(limit / 8, 64 * kMiB, kGiB);
  // For connections, manifests, and what streams have on their way.
  uint64_t rest = std::max(limit / 16, 128 * kMiB);
  uint64_t taken = split.fill + rest;
  split.store = limit > 2 * taken ? limit - taken : limit / 2;
  return split;
}

uint64_t MemoryLimit(const std::string& root) {
  uint64_t limit = MachineMemory(root + "proc/meminfo");
  for (const char* file :
       {"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    uint64_t number = NumberIn(root + file);
    if (number > 0) limit = std::min(limit, number);
  }
  return limit;
}

}  // namespace forebay::kubeflow
