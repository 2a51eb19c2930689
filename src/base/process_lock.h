// An exclusive lock on a file that belongs to one process: not to processes that are
// forked from it meanwhile (as flock's and open file description locks do), and not to
// the next process if this one is killed. Threads of a process exclude each other too.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace forebay {

class ProcessLock {
 public:
  // nullopt while another process or thread holds it. The file is made if need be, and
  // stays. Where the file system has no locks, threads exclude each other and processes
  // do not.
  static Result<std::optional<ProcessLock>> Try(const std::string& path);
  ~ProcessLock();
  ProcessLock(ProcessLock&& other) noexcept;
  ProcessLock& operator=(ProcessLock&&) = delete;

 private:
  ProcessLock(std::atomic<pid_t>* slot, pid_t pid) : slot_(slot), pid_(pid) {}

  std::atomic<pid_t>* slot_;
  pid_t pid_;
  UniqueFd file_;
};

}  // namespace forebay
