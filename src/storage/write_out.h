// Work that makes published chunks outlast a power cut, done after they were handed out:
// who waits for bytes does not wait for a disk as well. One thread of low priority, which
// starts with the first work. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/size.h"

namespace forebay::storage {

class WriteOut {
 public:
  // So much waits at most, in bytes of chunks and, as each holds a descriptor, in number.
  static constexpr uint64_t kBytesMax = kGiB;
  static constexpr size_t kCountMax = 256;

  WriteOut() = default;
  // Gives up what still waits: the kernel writes it out in its own time.
  ~WriteOut();
  WriteOut(const WriteOut&) = delete;
  WriteOut& operator=(const WriteOut&) = delete;

  // Runs `work` soon; on this thread and at once where too much waits already, so that
  // writers get no further ahead of a slow disk.
  void Add(uint64_t bytes, std::function<void()> work);

 private:
  struct Item {
    uint64_t bytes = 0;
    std::function<void()> work;
  };
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> waiting_;
  uint64_t waiting_bytes_ = 0;  // with what is being worked on
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::storage
