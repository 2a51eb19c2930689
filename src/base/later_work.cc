#include "base/later_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "base/start_thread.h"

namespace forebay {
namespace {

// Least urgent of all: readers and fills come first where processors are short.
constexpr int kNiceness = 19;

}  // namespace

LaterWork::~LaterWork() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LaterWork::Add(uint64_t bytes, std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    bool has_room = waiting_bytes_ + bytes <= kBytesMax && waiting_.size() < kCountMax;
    if (has_room && !thread_.joinable()) {
      auto thread = StartThread([this] { Run(); });
      if (thread.ok()) thread_ = *std::move(thread);
    }
    // Without a thread the caller does it.
    if (has_room && thread_.joinable()) {
      waiting_bytes_ += bytes;
      waiting_.push_back({bytes, std::chrono::steady_clock::now() + rest_,
                          std::exchange(work, nullptr)});
    }
  }
  if (work) return work();
  wake_.notify_one();
}

void LaterWork::Run() {
  // Of this thread alone, on Linux.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (!stopping_) {
      wake_.wait_until(lock, waiting_.front().due, [this] { return must_hurry(); });
    }
    if (stopping_) return;
    Item item = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    item.work();
    item.work = nullptr;  // its descriptor is closed outside of the lock
    lock.lock();
    waiting_bytes_ -= item.bytes;
  }
}

}  // namespace forebay
