// While one lives, no thread can be started: the default stack is larger than the address
// space, so the system refuses as it does at its limit of threads (EAGAIN). Works for any
// user, and inside of one process. Threads that run go on.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "base/status.h"

namespace forebay::testing_support {

class NoThreads {
 public:
  NoThreads() {
    FB_CHECK(::pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t huge;
    FB_CHECK(::pthread_getattr_default_np(&huge) == 0);
    FB_CHECK(::pthread_attr_setstacksize(&huge, size_t{1} << 60) == 0);
    FB_CHECK(::pthread_setattr_default_np(&huge) == 0);
    ::pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace forebay::testing_support
