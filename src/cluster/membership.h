// The head's view of the members: who registered, who is heard of, whose place is kept.
// Thread-safe. Heartbeats touch memory only; the metadata store is written when a member
// joins, changes, is drained or goes, so that a head that starts knows all places before
// anybody has registered again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
    size_t members_max = 10'000;
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

  // A new fence: processes with an older one under this id are superseded. A process that
  // registers again in the same term keeps its fence.
  Result<Registered> Register(const Registration& registration);
  // kNotFound: register (again). kChanged: a newer process has this id. The roster is in
  // the answer when the node's is older.
  Result<HeartbeatAnswer> Beat(const Heartbeat& heartbeat);
  // It says goodbye: down at once; its place is kept as ever.
  Status Leave(const Heartbeat& goodbye);
  // It gives up its place at once and leaves the roster when it falls silent. kNotFound.
  Status Drain(const std::string& id);

  std::shared_ptr<const Roster> roster();
  // The roster for somebody who has that of `epoch`; null when that is the newest.
  std::shared_ptr<const Roster> RosterAfter(uint64_t epoch);
  std::vector<Node> nodes();
  uint64_t term();
  // Forgets in the store who is gone; called now and then.
  Status ForgetGone();
  // Raises the term when nodes have rosters of a later one: the metadata store was wiped
  // or restored, and nodes would take no word of this head. Called now and then, and by
  // Register. kUnavailable: the store is not reachable, or knows a later head.
  Status CatchUp();

 private:
  struct Record {
    Member member;
    std::string instance;
    std::string report;
    TimePoint heard;
    bool left = false;
    uint64_t version = meta::kAbsent;  // of its key in the store
  };

  explicit Membership(Options options) : options_(options) {}
  // All under the mutex.
  uint64_t Next() { return (options_.term << 32) | ++sequence_; }
  void Sweep();
  void Publish();
  Result<Record*> FindFenced(const Heartbeat& heartbeat);
  // Takes over what stays of an earlier registration. True: the store has it like this.
  Result<bool> Inherit(Record* record);
  Registered Admit(Record record);
  void Notice(uint64_t epoch);

  // Not under the mutex: the store may be slow, and heartbeats must not wait for it.
  Result<uint64_t> Keep(const Record& record, std::optional<uint64_t> if_version);
  Status KeepDrained(const Record& record);

  Options options_;
  std::mutex raise_mutex_;  // one raises the term at a time; taken before mutex_
  std::mutex mutex_;
  std::map<std::string, Record> records_;
  std::map<std::string, uint64_t> gone_;  // the versions of their keys in the store
  std::shared_ptr<const Roster> roster_ = Roster::Empty();
  uint64_t sequence_ = 0;
  uint64_t ahead_ = 0;  // the largest epoch that nodes have and this head never gave out
};

}  // namespace forebay::cluster
