// Which of several heads leads: the one that holds the key `leader` in the metadata
// store, bound to a lease. A head stops leading by its own clock before the lease can
// have ended for others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/term.h"
#include "meta/meta_store.h"

namespace forebay::head {

using cluster::NextTerm;

class Leadership {
 public:
  struct Options {
    meta::MetaStore* store = nullptr;  // must outlive this
    std::string address{};             // host:port, where this head is reached
    milliseconds lease{3'000};
    // Both are called by the thread of the leadership. A failure gives it up again.
    std::function<Status(uint64_t term)> on_lead{};
    std::function<void()> on_lose{};
    const Clock* clock = &Clock::Real();
  };
  // kFull when its thread cannot be started.
  static Result<std::unique_ptr<Leadership>> Start(Options options);
  // Gives it up, so that another head leads at once.
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  bool leads() const;
  // Of whoever leads, as far as this head knows; empty: nobody.
  std::string leader() const;

 private:
  explicit Leadership(Options options) : options_(std::move(options)) {}
  void Run();
  Status TryToLead();
  Status Take();
  void KeepLeading();
  void Lose();
  // True: the end has come.
  bool Pause(milliseconds time);
  bool stopping();

  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string leader_;
  meta::LeaseId lease_ = meta::kNoLease;  // of the thread
  std::optional<TimePoint> kept_;         // when the last call that kept it was begun
  std::thread thread_;
};

}  // namespace forebay::head
