// A node's line to the head: registers, sends heartbeats, keeps the newest roster.
// Survives restarts of heads and their failover; while none answers, the last roster
// stands and the node stops acting as an owner after T/2.
//
// Also for a process that is no member (a trainer's private node): without `self` it only
// watches the roster.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/head_client.h"
#include "cluster/messages.h"
#include "cluster/roster.h"

namespace forebay::cluster {

class HeadLink {
 public:
  struct Options {
    HeadClient::Options client{};        // where the heads are
    std::optional<Registration> self{};  // nullopt: watches, is never a member
    // Sent with each heartbeat: a JSON object (store, warm-ups). Called by the link's
    // thread; must not wait.
    std::function<std::string()> report{};
    // What the head wants done, as JSON. Called by the link's thread; must not wait.
    std::function<void(const std::string& orders)> on_orders{};
    // After each newer roster, by the link's thread; must not wait.
    std::function<void(const Roster& roster)> on_roster{};
    const Clock* clock = &Clock::Real();
    std::unique_ptr<HeadCaller> caller{};  // instead of a HeadClient: for tests
  };

  // Returns at once: the link joins in the background, and goes on trying for ever.
  static Result<std::unique_ptr<HeadLink>> Start(Options options);
  ~HeadLink();  // stops
  HeadLink(const HeadLink&) = delete;
  HeadLink& operator=(const HeadLink&) = delete;

  // Says goodbye to the head (a second at most), so that readers are routed elsewhere at
  // once. Nothing is called back after it; the last roster stays. By one thread.
  void Stop();

  // Never null; Roster::Empty() before the first answer.
  std::shared_ptr<const Roster> roster() const;
  // True while this node may act as an owner: registered, heard by a head within T/2, not
  // superseded, not drained. Costs a lock; ask before each fill.
  bool MayOwn() const;
  // Of the latest registration; 0 before.
  uint64_t fence() const;
  const std::optional<Registration>& self() const { return options_.self; }
  // The next heartbeat goes out at once: there is something new to report.
  void BeatSoon();
  // Waits for the first roster.
  Status WaitForRoster(Deadline deadline) const;

  // Other calls of the head, with failover over its addresses.
  Result<std::string> Get(const std::string& path, Deadline deadline);
  Result<std::string> Post(const std::string& path, const std::string& json,
                           Deadline deadline);

 private:
  explicit HeadLink(Options options);
  void Run();
  Status Beat();
  Status Register();
  Status Heartbeat();
  Status Watch();
  void Heard(TimePoint asked, std::shared_ptr<const Roster> roster);
  bool Superseded() const;
  bool registered() const;
  Deadline BeatEnd() const;
  void Leave();

  Options options_;
  std::unique_ptr<HeadCaller> caller_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::shared_ptr<const Roster> roster_ = Roster::Empty();
  uint64_t fence_ = 0;
  bool superseded_ = false;
  std::optional<TimePoint> heard_;  // when the last call that was answered was begun
  bool stopping_ = false;
  std::stop_source stop_;  // cancels calls to the head when the link stops
  bool hurried_ = false;   // see BeatSoon
  // Until the next beat, when shorter than usual; the thread's own.
  milliseconds joined_pause_ = milliseconds::max();
  std::thread thread_;
};

}  // namespace forebay::cluster
