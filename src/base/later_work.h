// Work that nobody waits for, done by one thread of low priority, which starts with the
// first work. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/size.h"

namespace forebay {

class LaterWork {
 public:
  // So much waits at most, in bytes that are kept dirty meanwhile, and in number.
  static constexpr uint64_t kBytesMax = kGiB;
  static constexpr size_t kCountMax = 16'384;

  // Work waits for `rest` first, so that it does not hold up what it came from, unless
  // half of what may wait does.
  explicit LaterWork(milliseconds rest = milliseconds(0)) : rest_(rest) {}
  // Gives up what still waits.
  ~LaterWork();
  LaterWork(const LaterWork&) = delete;
  LaterWork& operator=(const LaterWork&) = delete;

  // Runs `work` after the rest; on this thread and at once where too much waits already,
  // so that those who add get no further ahead.
  void Add(uint64_t bytes, std::function<void()> work);

 private:
  struct Item {
    uint64_t bytes = 0;
    TimePoint due;
    std::function<void()> work;
  };
  void Run();
  bool must_hurry() const {
    return stopping_ || waiting_bytes_ > kBytesMax / 2 || waiting_.size() > kCountMax / 2;
  }

  const milliseconds rest_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> waiting_;
  uint64_t waiting_bytes_ = 0;  // with what is being worked on
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay
