#include "base/process_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <utility>

#include "base/errno_status.h"

namespace forebay {
namespace {

// The process whose thread holds a lock, 0 for none. fcntl's locks do not exclude threads
// of one process, and closing any descriptor of the file would give the lock up: so only
// the thread that has the slot opens the file. A value and no mutex, since in a forked
// child a mutex would be locked for ever, and a parent's id is seen to be another's.
// Paths that share a slot wait for each other, and nothing else.
std::atomic<pid_t>& SlotOf(const std::string& path) {
  static std::array<std::atomic<pid_t>, 64> slots{};
  return slots[std::hash<std::string>()(path) % slots.size()];
}

bool TakeSlot(std::atomic<pid_t>& slot, pid_t pid) {
  pid_t holder = slot.load();
  return holder != pid && slot.compare_exchange_strong(holder, pid);
}

}  // namespace

Result<std::optional<ProcessLock>> ProcessLock::Try(const std::string& path) {
  pid_t pid = ::getpid();
  std::atomic<pid_t>& slot = SlotOf(path);
  if (!TakeSlot(slot, pid)) return std::optional<ProcessLock>();
  ProcessLock lock(&slot, pid);
  lock.file_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.file_.valid()) return ErrnoStatus(errno, "open " + path);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  bool locked = ::fcntl(lock.file_.get(), F_SETLK, &whole) == 0;
  if (!locked && (errno == EACCES || errno == EAGAIN || errno == EINTR)) {
    return std::optional<ProcessLock>();
  }
  return std::optional<ProcessLock>(std::move(lock));
}

ProcessLock::ProcessLock(ProcessLock&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)),
      pid_(other.pid_),
      file_(std::move(other.file_)) {}

ProcessLock::~ProcessLock() {
  file_.Reset();  // before another thread may open it
  if (slot_ != nullptr && pid_ == ::getpid()) slot_->store(0);
}

}  // namespace forebay
