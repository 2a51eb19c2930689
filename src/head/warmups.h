// Operations that bring a dataset into the stores of its owners. Each node loads its own
// share; the head says what is wanted (in its answers to heartbeats) and adds up what
// nodes report. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/roster.h"
#include "cluster/work.h"
#include "head/dataset.h"
#include "meta/meta_store.h"
#include "model/any_manifest.h"

namespace forebay::head {

enum class OperationState : uint8_t { kRunning, kDone, kFailed, kCancelled };
std::string_view OperationStateName(OperationState state);

// What is missing for that many copies, for people; empty: nothing, or no node is up.
std::string ReplicasNote(uint32_t replicas, size_t nodes_up);

// One as it is now. Figures are over all copies: with two replicas every row counts
// twice.
struct Operation {
  cluster::WarmupOrder order{};
  OperationState state = OperationState::kRunning;
  uint64_t units = 0;  // what there is to do
  uint64_t units_done = 0;
  uint64_t rows = 0;
  uint64_t rows_done = 0;
  uint64_t bytes_done = 0;
  std::set<cluster::FailedFile> failures{};  // at most WarmupReport::kFailuresMax
  uint64_t failure_count = 0;
  std::vector<std::string> waiting_for{};  // nodes that are not done
  std::string reason{};                    // why it does not end, or failed
  std::string note{};                      // what is missing though it goes on
  milliseconds elapsed{0};
};

class Warmups {
 public:
  struct Options {
    meta::MetaStore* store = nullptr;  // must outlive this
    uint64_t term = 1;
    const Clock* clock = &Clock::Real();
  };
  // Those that were running under the head before go on.
  static Result<std::unique_ptr<Warmups>> Load(Options options);

  // An operation that does the same and still runs is given instead of a second one.
  Result<Operation> Start(const Dataset& dataset, const model::AnyManifest& manifest,
                          const cluster::Roster& roster);
  // kNotFound. Ended ones are kept for a while.
  Result<Operation> Get(const std::string& id);
  std::vector<Operation> List();
  // Nodes give it up with their next heartbeat.
  Result<Operation> Cancel(const std::string& id);

  // What a node is to do.
  cluster::Orders orders();
  // A node's word on how far it is; ends operations whose nodes are all done.
  void Report(const std::string& node, const std::vector<cluster::WarmupReport>& reports,
              const cluster::Roster& roster);
  // The roster may have changed. Also forgets in the store what has ended: heartbeats do
  // not wait for that.
  void Update(const cluster::Roster& roster);

 private:
  struct Running {
    Operation operation;
    uint64_t unit_count = 0;  // of one copy
    uint64_t row_count = 0;
    TimePoint began;
    std::map<std::string, cluster::WarmupReport> reports;  // by node
  };

  explicit Warmups(Options options) : options_(options) {}
  // All under the mutex.
  void Settle(const cluster::Roster& roster);
  void Follow(const cluster::Roster& roster);
  void AddUp(Running& running) const;
  void End(const std::string& id, OperationState state);
  std::string NewId();
  const Running* FindSame(const cluster::WarmupOrder& order) const;
  Operation Shown(const Running& running) const;

  void Forget(const std::vector<std::string>& ended);

  Options options_;
  std::mutex mutex_;
  std::map<std::string, Running> running_;
  std::vector<Operation> ended_;  // the newest last
  std::vector<std::string> to_forget_;
  uint64_t next_ = 1;
  // Reports count when they were made with this roster or a newer one: since it nobody
  // came up or went down.
  uint64_t routes_epoch_ = 0;
  std::vector<std::string> up_;
};

}  // namespace forebay::head
