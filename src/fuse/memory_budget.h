// Keeps the memory of the serving process under a cap: chunks, look-ahead and metadata
// are mapped files, of which the pages can be let go of at any time. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

namespace forebay::fuse {

class MemoryBudget {
 public:
  struct Options {
    uint64_t bytes_max = 0;
    std::function<uint64_t()> resident;  // what this process holds now
    std::function<void()> let_go;        // of all pages that can be had again
  };
  explicit MemoryBudget(Options options) : options_(std::move(options)) {}

  // So many bytes were touched. Looks at the truth once enough were.
  void Touched(uint64_t bytes);

 private:
  const Options options_;
  std::atomic<uint64_t> touched_{0};
  std::mutex mutex_;
};

// Of this process, from the kernel.
uint64_t ResidentBytes();

}  // namespace forebay::fuse
