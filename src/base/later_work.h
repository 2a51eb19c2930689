// Work that nobody waits for, done by one thread of low priority, which starts with the
// first work. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/size.h"

namespace forebay {

class LaterWork {
 public:
  // So much waits at most, in bytes that are kept dirty meanwhile, and in number.
  static constexpr uint64_t kBytesMax = kGiB;
  static constexpr size_t kCountMax = 256;

  LaterWork() = default;
  // Gives up what still waits.
  ~LaterWork();
  LaterWork(const LaterWork&) = delete;
  LaterWork& operator=(const LaterWork&) = delete;

  // Runs `work` soon; on this thread and at once where too much waits already, so that
  // those who add get no further ahead.
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

}  // namespace forebay
