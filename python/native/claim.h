// Something that one thread at a time may use; a second one gets an error, not a wait.
#pragma once

#include <unistd.h>

#include <atomic>

#include "base/status.h"

namespace forebay::python {

// Belongs to one thread while this lives. A copy of something busy in a forked child is
// not busy.
class Claim {
 public:
  explicit Claim(std::atomic<pid_t>& busy_in) : busy_in_(busy_in) {
    pid_t me = ::getpid();
    pid_t before = busy_in_.load();
    claimed_ = before != me && busy_in_.compare_exchange_strong(before, me);
  }
  ~Claim() {
    if (claimed_) busy_in_ = 0;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  Status status() const {
    if (claimed_) return Status::OK();
    return Status::Invalid(
        "another thread is reading these batches: give each thread batches of its own");
  }

 private:
  std::atomic<pid_t>& busy_in_;
  bool claimed_;
};

}  // namespace forebay::python
