// A cluster's head: knows datasets and nodes, and says who owns what. One of several
// leads; the others keep manifests at hand and send callers on to it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/size.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "cluster/membership.h"
#include "head/datasets.h"
#include "head/leadership.h"
#include "head/leases.h"
#include "head/versions.h"
#include "head/warmups.h"
#include "meta/meta_store.h"

namespace forebay::head {

// What a head has while it leads.
struct Reign {
  uint64_t term = 0;
  std::unique_ptr<cluster::Membership> members;
  std::unique_ptr<Datasets> datasets;
  std::unique_ptr<Warmups> warmups;
  std::unique_ptr<Leases> leases;
};

class Head {
 public:
  struct Options {
    std::string meta{};           // a metadata store, see meta::OpenMetaStore
    std::string state{};          // the directory for manifests
    std::string address{};        // host:port, where nodes and other heads reach this one
    milliseconds timeout{4'000};  // T, see cluster
    milliseconds place_kept{600'000};    // of a node that is down
    milliseconds lease{3'000};           // of the lead
    std::vector<std::string> allowed{};  // places that may be read; empty: all
    uint64_t plan_memory_bytes = kGiB;   // cap of all plans of tables together
  };

  // With one store of its own the head leads at once; kUnavailable when another process
  // has that store. With etcd it may have to wait for its turn.
  static Result<std::unique_ptr<Head>> Start(Options options);
  ~Head();
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  // Null while this head does not lead. Whoever holds it may end what was begun.
  std::shared_ptr<Reign> reign() const;
  // Where the one that leads is reached; empty: nobody leads, as far as is known.
  std::string leader() const;
  Versions& versions() { return *versions_; }
  const Options& options() const { return options_; }

 private:
  explicit Head(Options options) : options_(std::move(options)) {}
  Status LeadAlone();
  Status Begin(uint64_t term);
  void End();
  void Run();
  void WorkAsLeader(Reign& reign);
  void FetchManifests();
  void ForgetVersions();
  static void ForgetLeases(Reign& reign);

  Options options_;
  UniqueFd lock_;
  std::unique_ptr<meta::MetaStore> store_;
  std::unique_ptr<Versions> versions_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<Reign> reign_;
  bool stopping_ = false;
  std::unique_ptr<Leadership> leadership_;  // null: alone
  std::thread thread_;
};

}  // namespace forebay::head
