#include "fuse/waiting_room.h"

#include <utility>

namespace forebay::fuse {

WaitingRoom::WaitingRoom(Options options) : options_(options) {
  for (size_t i = 0; i < options_.patient_max + options_.brisk_max; ++i) {
    threads_.emplace_back([this] { Run(); });
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

void WaitingRoom::Submit(Task task) {
  {
    std::lock_guard lock(mutex_);
    fresh_.push_back(std::move(task));
  }
  wake_.notify_one();
}

bool WaitingRoom::HasNext() const {
  return !fresh_.empty() || (!tried_.empty() && patient_count_ < options_.patient_max);
}

// Who was tried came first.
WaitingRoom::Next WaitingRoom::TakeNext() {
  bool may_wait = patient_count_ < options_.patient_max;
  std::deque<Task>& from = may_wait && !tried_.empty() ? tried_ : fresh_;
  Next next{std::move(from.front()), may_wait ? Patience::kWait : Patience::kTry};
  from.pop_front();
  return next;
}

void WaitingRoom::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || HasNext(); });
    if (stopping_) return;
    Next next = TakeNext();
    bool waits = next.patience == Patience::kWait;
    if (waits) ++patient_count_;
    lock.unlock();
    bool done = next.task(next.patience);
    if (done) next.task = nullptr;  // what it holds ends without the lock
    lock.lock();
    if (waits) --patient_count_;
    if (!done) tried_.push_back(std::move(next.task));
    // Those that came meanwhile may have found no thread that may wait.
    if (HasNext()) wake_.notify_one();
  }
}

}  // namespace forebay::fuse
