// Calls to other members that are under way, and who is not worth calling. A call ends
// when the roster says that its member went down, or that this node is to fill the unit
// itself. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/hash.h"
#include "cluster/roster.h"

namespace forebay::node {

class PeerCalls {
 public:
  // `self` is this node's id in rosters; empty: it is in none.
  explicit PeerCalls(std::string self) : self_(std::move(self)) {}

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

  // A member that did not answer is left alone until it has registered anew, or for a
  // while: the head may not have noticed, or never will.
  void Avoid(const cluster::Member& member);
  bool Avoided(const cluster::Member& member);

 private:
  static constexpr milliseconds kAvoidTime{5'000};
  struct Silence {
    uint64_t fence = 0;
    TimePoint until{};
  };

  const std::string self_;
  std::mutex mutex_;
  std::list<Scope::Entry> calls_;
  std::map<std::string, Silence> silent_;
};

}  // namespace forebay::node
