#include "reader/copy_helper.h"

#include <unistd.h>

#include "base/thread_pool.h"

namespace forebay::reader {

struct CopyHelper::Hands {
  const pid_t pid = ::getpid();
  ThreadPool threads{1};
};

CopyHelper::~CopyHelper() {
  Hands* hands = hands_.load();
  // A parent's thread is not in its child: there is nobody to wait for.
  if (hands != nullptr && hands->pid == ::getpid()) delete hands;
}

CopyHelper::Hands& CopyHelper::OfThisProcess() {
  Hands* hands = hands_.load();
  if (hands != nullptr && hands->pid == ::getpid()) return *hands;
  auto* fresh = new Hands();
  if (hands_.compare_exchange_strong(hands, fresh)) return *fresh;
  delete fresh;  // another thread was faster
  return *hands;
}

void CopyHelper::Share(size_t count, const std::function<void(size_t)>& copy) {
  (void)ParallelFor(OfThisProcess().threads, count, [&](size_t i) {
    copy(i);
    return Status::OK();
  });
}

}  // namespace forebay::reader
