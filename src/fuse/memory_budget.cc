#include "fuse/memory_budget.h"

#include <unistd.h>

#include <cstdio>

namespace forebay::fuse {

// A look costs microseconds: one per sixteenth of the budget goes unnoticed. The other
// half is for what is touched between two looks and while pages are let go of; when that
// takes long, and two steps more were touched meanwhile, the others wait for it.
void MemoryBudget::Touched(uint64_t bytes) {
  uint64_t step = options_.bytes_max / 16;
  uint64_t touched = touched_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (touched < step) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    if (touched < 2 * step) return;
    lock.lock();
    if (touched_ < step) return;  // somebody has looked since
  }
  touched_ = 0;
  if (options_.resident() > options_.bytes_max / 2) options_.let_go();
}

uint64_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long all = 0;
  unsigned long resident = 0;
  int got = std::fscanf(file, "%lu %lu", &all, &resident);
  std::fclose(file);
  return got == 2 ? resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace forebay::fuse
