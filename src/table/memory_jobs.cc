#include "table/memory_jobs.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace forebay::table {
namespace {

using Reservation = MemoryBudget::Reservation;

// Shared with tasks in the pool: those that come late find nothing to do.
class Run : public std::enable_shared_from_this<Run> {
 public:
  explicit Run(const MemoryJobs& jobs)
      : jobs_(jobs),
        running_max_(jobs.pool == nullptr ? 1 : jobs.pool->thread_count() + 1) {}

  Status All() {
    for (size_t i = 0; i < jobs_.count && !failed(); ++i) {
      AwaitPlace();
      auto reserved = Reserve(i);
      if (!reserved.ok()) {
        Note(i, reserved.status());
        break;
      }
      Start(i, *std::move(reserved));
    }
    while (RunOne()) {
    }
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return running_ == 0; });
    lock.unlock();
    for (size_t i : refused_) RunAlone(i);
    return status_;
  }

 private:
  struct Ready {
    size_t job;
    Reservation memory;
  };

  bool failed() {
    std::lock_guard lock(mutex_);
    return !status_.ok();
  }

  // Jobs that no thread is free for would only keep memory from others.
  void AwaitPlace() {
    std::unique_lock lock(mutex_);
    while (ready_.size() + running_ >= running_max_) {
      if (ready_.empty()) {
        ended_.wait(lock);
        continue;
      }
      lock.unlock();
      RunOne();
      lock.lock();
    }
  }

  // While there is no room, the calling thread does what is ready. It waits only when the
  // memory is not its own.
  Result<Reservation> Reserve(size_t i) {
    uint64_t bytes = jobs_.bytes(i);
    while (true) {
      if (auto reserved = jobs_.budget->TryReserve(bytes)) return *std::move(reserved);
      if (!RunOne()) break;
    }
    return jobs_.budget->Reserve({.bytes = bytes, .deadline = jobs_.deadline});
  }

  void Start(size_t i, Reservation memory) {
    {
      std::lock_guard lock(mutex_);
      ready_.push_back({i, std::move(memory)});
    }
    if (jobs_.pool == nullptr) {
      RunOne();
      return;
    }
    jobs_.pool->Submit([self = shared_from_this()] { self->RunOne(); });
  }

  // False: none is ready.
  bool RunOne() {
    std::unique_lock lock(mutex_);
    if (ready_.empty()) return false;
    Ready next = std::move(ready_.front());
    ready_.pop_front();
    ++running_;
    bool skip = !status_.ok();
    lock.unlock();
    Status status = skip ? Status::OK() : jobs_.run(next.job);
    bool was_alone = next.memory.alone();
    next.memory = {};
    Note(next.job, status, was_alone);
    lock.lock();
    --running_;
    ended_.notify_all();
    return true;
  }

  void RunAlone(size_t i) {
    if (failed()) return;
    auto reserved = jobs_.budget->Reserve({.alone = true, .deadline = jobs_.deadline});
    if (!reserved.ok()) return Note(i, reserved.status());
    Note(i, jobs_.run(i), /*was_alone=*/true);
  }

  void Note(size_t i, Status status, bool was_alone = false) {
    if (status.ok()) return;
    bool refused = status.code() == StatusCode::kFull;
    std::lock_guard lock(mutex_);
    if (refused && !was_alone) {
      refused_.push_back(i);
      return;
    }
    if (i >= first_failure_) return;
    first_failure_ = i;
    status_ = refused ? TooLargeForMemory(status) : std::move(status);
  }

  const MemoryJobs jobs_;
  const size_t running_max_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Ready> ready_;
  size_t running_ = 0;
  std::vector<size_t> refused_;
  size_t first_failure_ = SIZE_MAX;
  Status status_;
};

}  // namespace

Status RunMemoryJobs(const MemoryJobs& jobs) {
  if (jobs.budget == nullptr) return ForEach(jobs.pool, jobs.count, jobs.run);
  return std::make_shared<Run>(jobs)->All();
}

Status TooLargeForMemory(const Status& failure) {
  return {failure.code(),
          failure.message() +
              "; nothing else was being decoded: give the node more --fill-memory, or, "
              "where a head plans the dataset, the head more --plan-memory"};
}

}  // namespace forebay::table
