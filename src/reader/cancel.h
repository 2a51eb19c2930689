// Ends the waits of a thread from outside: a prefetch thread must not outlive its owner's
// patience while a node fetches gigabytes.
#pragma once

#include <atomic>

namespace forebay::reader {

// While it lives, this thread's waits for the node end once `flag` is set.
class CancelScope {
 public:
  explicit CancelScope(const std::atomic<bool>* flag) : outer_(current_) {
    current_ = flag;
  }
  ~CancelScope() { current_ = outer_; }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  static bool Cancelled() { return current_ != nullptr && current_->load(); }

 private:
  static inline thread_local const std::atomic<bool>* current_ = nullptr;
  const std::atomic<bool>* outer_;
};

}  // namespace forebay::reader
