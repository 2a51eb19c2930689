// The head's view of the members: who registered, who is heard of, whose place is kept.
// Thread-safe. Heartbeats touch memory only; the metadata store is written when a member
// joins, changes, is drained or goes, so that a head that starts knows all places before
// anybody has registered again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/messages.h"
#include "cluster/roster.h"
#include "meta/meta_store.h"

namespace forebay::cluster {

class Membership {
 public:
  struct Options {
    meta::MetaStore* store = nullptr;  // must outlive this
    // Larger than that of every head before: the high half of epochs and fences.
    uint64_t term = 1;
    milliseconds timeout{4'000};       // T: silent for so long is down
    milliseconds place_kept{600'000};  // down for so long is gone
    const Clock* clock = &Clock::Real();
  };
  // One node as people see it.
  struct Node {
    Member member;
    std::string report;    // of its last heartbeat, JSON; may be empty
    milliseconds silence;  // since it was heard of
  };

  // Members that the store knows are taken for up until T has passed: they register
  // again.
  static Result<std::unique_ptr<Membership>> Load(Options options);

  // A new fence: whoever has an older one under this id is superseded.
  Result<Registered> Register(const Registration& registration);
  // kNotFound: register (again). kChanged: a newer process has this id. The roster is in
  // the answer when the node's is older.
  Result<HeartbeatAnswer> Beat(const Heartbeat& heartbeat);
  // It says goodbye: down at once; its place is kept as ever.
  Status Leave(const Heartbeat& goodbye);
  // It gives up its place at once and leaves the roster when it falls silent. kNotFound.
  Status Drain(const std::string& id);

  std::shared_ptr<const Roster> roster();
  std::vector<Node> nodes();
  // Forgets in the store who is gone; called now and then.
  Status ForgetGone();

 private:
  struct Record {
    Member member;
    std::string instance;
    std::string report;
    TimePoint heard;
    bool left = false;
  };

  explicit Membership(Options options) : options_(options) {}
  // All under the mutex.
  uint64_t Next() { return (options_.term << 32) | ++sequence_; }
  void Sweep();
  void Publish();
  Result<Record*> FindFenced(const Heartbeat& heartbeat);

  Status Keep(const Record& record);

  Options options_;
  std::mutex mutex_;
  std::map<std::string, Record> records_;
  std::vector<std::string> gone_;
  std::shared_ptr<const Roster> roster_ = Roster::Empty();
  uint64_t sequence_ = 0;
};

}  // namespace forebay::cluster
