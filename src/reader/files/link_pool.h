// The connections over which a process asks its node for files of one version, or of all
// versions of a mount. Bounded; the last few are kept for who waits only briefly, so that
// what is stored can be had while others wait for a source that hangs. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "reader/files/files_link.h"

namespace forebay::reader {

class LinkPool {
 public:
  explicit LinkPool(NodeOptions node) : node_(std::move(node)) {}

  // Threads that may wait for the source at once.
  static constexpr size_t kPatientMax = 32;
  // Beyond them, asks of up to this long.
  static constexpr size_t kBriskMax = 8;
  static constexpr milliseconds kBriskTime = milliseconds(50);
  // A brief ask that ends like this may be answered when it is asked again for longer.
  static bool IsPassing(const Status& status) {
    return status.code() == StatusCode::kDeadline ||
           status.code() == StatusCode::kUnavailable ||
           status.code() == StatusCode::kCancelled;
  }

  // A link for one thread; back in the pool at the end of its life.
  class Lent {
   public:
    Lent(LinkPool* pool, std::unique_ptr<FilesLink> link)
        : pool_(pool), link_(std::move(link)) {}
    ~Lent() {
      if (link_ != nullptr) pool_->TakeBack(std::move(link_));
    }
    Lent(Lent&&) = default;
    Lent& operator=(Lent&&) = delete;
    FilesLink* operator->() { return link_.get(); }
    FilesLink& operator*() { return *link_; }

   private:
    LinkPool* pool_;
    std::unique_ptr<FilesLink> link_;
  };
  // kDeadline when none became free in time.
  Result<Lent> Take(Deadline deadline);

  // Who may wait for the source would have to wait for a link first.
  bool is_busy();

  // Has idle links hear of evictions and tell what was unmapped; never waits.
  void Poll();
  size_t count();
  // In a forked child: the connections are the parent's.
  void AfterFork();

 private:
  void TakeBack(std::unique_ptr<FilesLink> link);

  const NodeOptions node_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<FilesLink>> idle_;
  size_t lent_count_ = 0;
  size_t count_ = 0;  // also those that are polled just now
  std::condition_variable returned_;
};

}  // namespace forebay::reader
