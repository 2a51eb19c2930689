#include "fuse/waiting_room.h"

#include <utility>

#include "base/log.h"
#include "base/start_thread.h"

namespace forebay::fuse {

WaitingRoom::WaitingRoom(Options options) : options_(options) {
  for (size_t i = 0; i < options_.patient_max + options_.brisk_max; ++i) {
    auto thread = StartThread([this] { Run(); });
    if (!thread.ok()) {
      spdlog::warn("requests are answered by {} threads instead of {}: {}", i,
                   options_.patient_max + options_.brisk_max, thread.status().message());
      return;
    }
    threads_.push_back(*std::move(thread));
  }
}

WaitingRoom::~WaitingRoom() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WaitingRoom::Submit(uint32_t source, Task task) {
  if (threads_.empty()) {
    task(Patience::kWait);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    fresh_.push_back({source, std::move(task)});
  }
  wake_.notify_one();
}

bool WaitingRoom::MayWait(const Source& source) const {
  size_t free = options_.patient_max - patient_count_;
  return free > 0 && (options_.source_count == 1 || source.patient_count < free);
}

WaitingRoom::Source* WaitingRoom::NextSource() {
  for (auto& [number, source] : sources_) {
    if (!source.tried.empty() && MayWait(source)) return &source;
  }
  return nullptr;
}

// Who was tried came first.
WaitingRoom::Next WaitingRoom::TakeNext() {
  if (Source* source = NextSource()) {
    Next next{source, std::move(source->tried.front()), Patience::kWait};
    source->tried.pop_front();
    return next;
  }
  Fresh fresh = std::move(fresh_.front());
  fresh_.pop_front();
  Source& source = sources_[fresh.source];
  return {&source, std::move(fresh.task),
          MayWait(source) ? Patience::kWait : Patience::kTry};
}

void WaitingRoom::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || HasNext(); });
    if (stopping_) return;
    Next next = TakeNext();
    bool waits = next.patience == Patience::kWait;
    if (waits) {
      ++patient_count_;
      ++next.source->patient_count;
    }
    // There may be work for one more: an end can let tasks of two sources wait.
    if (HasNext()) wake_.notify_one();
    lock.unlock();
    bool done = next.task(next.patience);
    if (done) next.task = nullptr;  // what it holds ends without the lock
    lock.lock();
    if (waits) {
      --patient_count_;
      --next.source->patient_count;
    }
    if (!done) next.source->tried.push_back(std::move(next.task));
  }
}

}  // namespace forebay::fuse
