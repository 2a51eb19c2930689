// The memory of fills: so many bytes at once, and large blocks are used again. Fresh
// memory costs the kernel more than the download that fills it. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace forebay::cache {

class MemoryGate {
 public:
  // Blocks that nobody uses and that are kept for the next; the kernel may take their
  // pages when it is short.
  static constexpr uint64_t kKeptBytesMax = uint64_t{128} << 20;

  explicit MemoryGate(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ~MemoryGate();
  MemoryGate(const MemoryGate&) = delete;
  MemoryGate& operator=(const MemoryGate&) = delete;

  // Waits for its turn; one that is larger than all runs alone. What bytes() holds at
  // first is not said.
  class Pass {
   public:
    Pass(MemoryGate* gate, uint64_t bytes);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    std::span<std::byte> bytes() const { return bytes_; }

   private:
    MemoryGate* gate_;
    uint64_t counted_;
    std::span<std::byte> block_;  // empty when it is too small for one
    std::unique_ptr<std::byte[]> small_;
    std::span<std::byte> bytes_;
  };

 private:
  std::span<std::byte> TakeBlock(uint64_t bytes);
  void GiveBack(std::span<std::byte> block);

  const uint64_t bytes_max_;
  std::mutex mutex_;
  std::condition_variable freed_;
  uint64_t used_ = 0;
  std::vector<std::span<std::byte>> kept_;
  uint64_t kept_bytes_ = 0;
};

}  // namespace forebay::cache
