#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/start_thread.h"

namespace forebay {

// At the limit of threads there are fewer of them, down to none.
ThreadPool::ThreadPool(size_t thread_count) {
  for (size_t i = 0; i < std::max<size_t>(thread_count, 1); ++i) {
    auto thread = StartThread([this] { Run(); });
    if (!thread.ok()) return;
    threads_.push_back(*std::move(thread));
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Submit(std::function<void()> task) {
  if (threads_.empty()) return task();
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void ThreadPool::Run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

namespace {

// Shared by the caller and its helpers; helpers that start late find nothing to do.
struct Loop {
  size_t count;
  std::function<Status(size_t)> task;
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::condition_variable idle;
  size_t running = 0;
  size_t first_failure = SIZE_MAX;
  Status status;

  bool Take(size_t* index) {
    std::lock_guard lock(mutex);
    if (failed || next >= count) return false;
    *index = next++;
    ++running;
    return true;
  }
  void Done(size_t index, Status result) {
    std::lock_guard lock(mutex);
    --running;
    if (!result.ok()) {
      failed = true;
      if (index < first_failure) {
        first_failure = index;
        status = std::move(result);
      }
    }
    if (running == 0) idle.notify_all();
  }
  void Work() {
    for (size_t index; Take(&index);) Done(index, task(index));
  }
};

}  // namespace

Status ParallelFor(ThreadPool& pool, size_t count,
                   const std::function<Status(size_t)>& task) {
  if (count == 0) return Status::OK();
  auto loop = std::make_shared<Loop>();
  loop->count = count;
  loop->task = task;
  size_t helpers = std::min(pool.thread_count(), count - 1);
  for (size_t i = 0; i < helpers; ++i) pool.Submit([loop] { loop->Work(); });
  loop->Work();
  std::unique_lock lock(loop->mutex);
  loop->idle.wait(lock, [&] { return loop->running == 0; });
  return loop->status;
}

Status ForEach(ThreadPool* pool, size_t count,
               const std::function<Status(size_t)>& task) {
  if (pool != nullptr) return ParallelFor(*pool, count, task);
  for (size_t i = 0; i < count; ++i) FB_RETURN_NOT_OK(task(i));
  return Status::OK();
}

}  // namespace forebay
