#include "reader/batches/prefetch.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/start_thread.h"
#include "reader/cancel.h"

namespace forebay::reader {
namespace {

constexpr milliseconds kLookInterval{100};

using Ready = Result<std::optional<Batch>>;

}  // namespace

class Prefetch::Lane {
 public:
  static Result<std::unique_ptr<Lane>> Start(std::unique_ptr<Batches> batches,
                                             size_t ahead) {
    auto lane = std::unique_ptr<Lane>(new Lane(std::move(batches), ahead));
    FB_ASSIGN_OR_RETURN(lane->thread_, StartThread([raw = lane.get()] { raw->Run(); }));
    return lane;
  }

  ~Lane() {
    Stop();
    if (thread_.joinable()) thread_.join();
  }

  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
  }

  bool ready() {
    std::lock_guard lock(mutex_);
    return !batches_.empty();
  }

  // nullopt where there is nothing after this long.
  std::optional<Ready> Take(milliseconds patience) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, patience, [this] { return !batches_.empty(); });
    if (batches_.empty()) return std::nullopt;
    Ready front = std::move(batches_.front());
    batches_.pop_front();
    lock.unlock();
    wake_.notify_one();
    return front;
  }

 private:
  Lane(std::unique_ptr<Batches> batches, size_t ahead)
      : made_by_(std::move(batches)), ahead_(ahead) {}

  void Run() {
    CancelScope scope(&stopping_);
    while (true) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || batches_.size() < ahead_; });
        if (stopping_) return;
      }
      Ready batch = made_by_->Next();
      bool ended = batch.ok() && !batch->has_value();
      bool failed = !batch.ok();
      std::unique_lock lock(mutex_);
      batches_.push_back(std::move(batch));
      ready_.notify_one();
      // A failure is told before the same batch is tried again.
      if (failed) wake_.wait(lock, [this] { return stopping_ || batches_.empty(); });
      if (ended) return;
    }
  }

  std::unique_ptr<Batches> made_by_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable wake_;
  std::deque<Ready> batches_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

Prefetch::Prefetch(plan::Shards shards, uint64_t start)
    : shards_(std::move(shards)), start_(start), next_(start), pid_(::getpid()) {}

Prefetch::~Prefetch() {
  if (::getpid() == pid_) {
    // One may wait for what another holds.
    for (auto& lane : lanes_) lane->Stop();
    return;
  }
  // The threads are the parent's; joining their copies would never end.
  for (auto& lane : lanes_) static_cast<void>(lane.release());
}

Result<std::unique_ptr<Prefetch>> Prefetch::Make(const BatchMaker& make,
                                                 const PrefetchOptions& options) {
  FB_ASSIGN_OR_RETURN(plan::Shards shards, plan::Shards::Make(options.share.shards));
  uint64_t start = options.share.start_step;
  uint64_t left =
      shards.worker_step_count() - std::min(start, shards.worker_step_count());
  auto threads = static_cast<uint32_t>(
      std::clamp<uint64_t>(options.threads, 1, std::max<uint64_t>(left, 1)));
  auto prefetch = std::unique_ptr<Prefetch>(new Prefetch(std::move(shards), start));
  size_t ahead = std::max<size_t>((options.ahead + threads - 1) / threads, 1);
  for (uint32_t i = 0; i < threads; ++i) {
    // The lane's steps are the worker's start + i, start + i + threads, …
    BatchShare share = options.share;
    uint64_t worker_step = start + i;
    share.shards.worker += (worker_step % threads) * share.shards.worker_count;
    share.shards.worker_count *= threads;
    share.start_step = worker_step / threads;
    FB_ASSIGN_OR_RETURN(auto batches, make(share));
    FB_ASSIGN_OR_RETURN(auto lane, Lane::Start(std::move(batches), ahead));
    prefetch->lanes_.push_back(std::move(lane));
  }
  return prefetch;
}

bool Prefetch::ready() const {
  if (::getpid() != pid_) return false;
  return next_ >= step_count() || lanes_[(next_ - start_) % lanes_.size()]->ready();
}

Result<std::optional<Batch>> Prefetch::Next(const std::function<bool()>& interrupted) {
  if (::getpid() != pid_) {
    return Status::Invalid(
        "these batches are prefetched in the process that this one was forked from: make "
        "new ones here");
  }
  waited_ = {};
  if (next_ >= step_count()) return std::optional<Batch>();
  Lane& lane = *lanes_[(next_ - start_) % lanes_.size()];
  auto start = std::chrono::steady_clock::now();
  while (true) {
    std::optional<Ready> ready = lane.Take(kLookInterval);
    if (!ready && interrupted && interrupted()) {
      return Status::Cancelled("the wait was interrupted");
    }
    if (!ready) continue;
    waited_ = std::chrono::steady_clock::now() - start;
    if (ready->ok()) ++next_;
    return *std::move(ready);
  }
}

}  // namespace forebay::reader
