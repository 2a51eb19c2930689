// The call that a thread serves: waits deep inside the reader end soon after the client
// has gone or the service stops.
#pragma once

#include <functional>

namespace forebay::flight {

class CallScope {
 public:
  explicit CallScope(const std::function<bool()>* ended) : outer_(current_) {
    current_ = ended;
  }
  ~CallScope() { current_ = outer_; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // False where this thread serves no call.
  static bool Ended() { return current_ != nullptr && (*current_)(); }

 private:
  static inline thread_local const std::function<bool()>* current_ = nullptr;
  const std::function<bool()>* outer_;
};

}  // namespace forebay::flight
