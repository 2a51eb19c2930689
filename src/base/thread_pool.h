// A fixed set of threads that run submitted tasks in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"

namespace forebay {

class ThreadPool {
 public:
  explicit ThreadPool(size_t thread_count);
  ~ThreadPool();  // runs what was submitted, then joins
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Submit(std::function<void()> task);
  size_t thread_count() const { return threads_.size(); }

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Calls task(0) … task(count - 1) on the pool and the calling thread; returns the first
// failure by index after all started ones have ended. After a failure no more are
// started. Safe to call from a task of the same pool: the caller works too.
Status ParallelFor(ThreadPool& pool, size_t count,
                   const std::function<Status(size_t)>& task);
// The same, on the calling thread alone where there is no pool.
Status ForEach(ThreadPool* pool, size_t count, const std::function<Status(size_t)>& task);

}  // namespace forebay
