// Starts threads without exceptions: a process may have only so many (ulimit -u, the pids
// limit of its cgroup), and at that limit the caller goes on without, or says so.
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace forebay {

// What a failure to start a thread is called, everywhere.
Status NoThreadStatus(int error);

// A running thread, or kFull. `body` is destroyed if there is none.
template <typename Body>
Result<std::thread> StartThread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    return NoThreadStatus(error.code().value());
  }
}

// kFull where this many threads more cannot run at once. For what libraries start: they
// hang or abort at the limit.
Status CheckThreadRoom(size_t count);

}  // namespace forebay
