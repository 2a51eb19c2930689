// Calls to other members that are under way, and who is not worth calling. A call ends
// when the roster says that its member went down, or that this node is to fill the unit
// itself. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/hash.h"
#include "cluster/roster.h"

namespace forebay::node {

class PeerCalls {
 public:
  // `self` is this node's id in rosters; empty: it is in none.
  explicit PeerCalls(std::string self, const Clock* clock = &Clock::Real())
      : self_(std::move(self)), clock_(*clock) {}

  // What a call is for.
  struct Call {
    std::string member{};
    Hash128 unit{};
  };
  // While it lives the call is known.
  class Scope {
   public:
    Scope(PeerCalls* calls, Call call);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    std::stop_token token() const { return entry_->stop.get_token(); }
    void Stop() { entry_->stop.request_stop(); }

   private:
    friend class PeerCalls;
    struct Entry {
      Call call;
      std::stop_source stop;
    };
    PeerCalls* calls_;
    std::list<Entry>::iterator entry_;
  };

  void OnRoster(const cluster::Roster& roster);

  enum class Fault {
    kSilent,   // gone, or stuck, or slow: not worth a question
    kRefused,  // it said itself that it cannot: still good for what it has
  };
  // A member that did not give what it should is left alone until it has registered anew,
  // or for a while: the head may not have noticed, or never will.
  void Avoid(const cluster::Member& member, Fault fault = Fault::kSilent);
  std::optional<Fault> Avoided(const cluster::Member& member);

 private:
  static constexpr milliseconds kAvoidTime{5'000};
  struct Avoidance {
    uint64_t fence = 0;
    TimePoint until{};
    Fault fault{};
  };

  const std::string self_;
  const Clock& clock_;
  std::mutex mutex_;
  std::list<Scope::Entry> calls_;
  std::map<std::string, Avoidance> avoided_;
};

}  // namespace forebay::node
