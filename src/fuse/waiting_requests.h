// Requests that wait for the node or the source, by their number. Who waits for one and
// is killed shall not have to wait any longer: such a request is answered at once, and
// what comes for it later is nobody's. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "fuse/channel.h"

namespace forebay::fuse {

class WaitingRequests {
 public:
  // `is_dying` says whether a thread was killed and lives on only for its request.
  explicit WaitingRequests(std::function<bool(uint32_t thread)> is_dying)
      : is_dying_(std::move(is_dying)) {}

  // From when a request has to wait until it ends; whoever takes it answers it.
  class Ticket {
   public:
    Ticket(WaitingRequests* all, uint64_t unique) : all_(all), unique_(unique) {}
    ~Ticket() { all_->End(unique_); }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    // False when it was answered already.
    bool Take() { return all_->Take(unique_); }

   private:
    WaitingRequests* all_;
    uint64_t unique_;
  };
  struct Asker {
    Channel channel;
    uint32_t thread = 0;
  };
  std::shared_ptr<Ticket> Begin(uint64_t unique, Asker asker);

  // The kernel says that a signal came for who waits. Any other signal than one that
  // kills is left alone: readers of files do not expect to be interrupted.
  void OnSignal(uint64_t unique);
  // To be called now and then: who was signalled may be killed later.
  void Check();

 private:
  struct Request {
    Asker asker;
    bool signalled = false;
    bool taken = false;
  };
  void RememberEarly(uint64_t unique);
  bool Take(uint64_t unique);
  void End(uint64_t unique);

  const std::function<bool(uint32_t thread)> is_dying_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Request> requests_;
  // Signals for requests that are not here: answered long ago, or read by a thread that
  // has not begun them yet. The newest few.
  std::deque<uint64_t> early_;
};

// From /proc.
bool IsDying(uint32_t thread);

}  // namespace forebay::fuse
