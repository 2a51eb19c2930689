#include "base/memory_limit.h"

#include <algorithm>
#include <fstream>

#include "base/size.h"

namespace forebay {
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

uint64_t MemoryLimit(const std::string& root) {
  uint64_t limit = MachineMemory(root + "proc/meminfo");
  for (const char* file :
       {"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    uint64_t number = NumberIn(root + file);
    if (number > 0) limit = std::min(limit, number);
  }
  return limit;
}

}  // namespace forebay
