// A call that waits for a thread of a pool, and may be called off until it has one: who
// submitted it need not wait for its turn. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/thread_pool.h"

namespace forebay::node {

class PendingCall {
 public:
  void Submit(ThreadPool& pool, std::function<void()> call) {
    pool.Submit([taken = taken_, call = std::move(call)] {
      if (!taken->exchange(true)) call();
    });
  }
  // True when it will not run; false when it does, or did.
  bool CallOff() { return !taken_->exchange(true); }

 private:
  std::shared_ptr<std::atomic<bool>> taken_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace forebay::node
