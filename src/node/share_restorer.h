// Brings a node's share back after it has started with less than it held: a store in
// memory, or on a disk that was lost. For a while after the node has joined, it looks
// which versions the other members hold and gets what is placed here from them, a unit at
// a time. Where another member holds all that it owns, the dataset was warm: then what no
// peer has is read from the source too, after everything that readers wait for. This
// restores units whose copies were all on members that restarted together.
//
// A restart must not cost more than it repairs: nothing is evicted for it, fills come
// first, and it rests as long as it works. One thread; Reports from any.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cache/engine.h"
#include "cluster/work.h"
#include "node/head_datasets.h"
#include "node/held_versions.h"
#include "node/share.h"

namespace forebay::node {

// What a head says about a dataset, with what members other than this one hold of it.
struct HeldElsewhere {
  HomeDataset dataset{};
  std::map<std::string, uint64_t> units_held{};  // by members that are up, if any
};
// Of the head's /v1/status.
Result<std::vector<HeldElsewhere>> ParseHeldElsewhere(std::string_view status,
                                                      const std::string& self);

class ShareRestorer {
 public:
  // All must outlive this; the datasets have joined a cluster. kFull when its thread
  // cannot be started.
  static Result<std::unique_ptr<ShareRestorer>> Start(cache::Engine* engine,
                                                      HeadDatasets* datasets,
                                                      HeldVersions* held);
  ~ShareRestorer();

  // Of the dataset that is being brought back now, if any.
  std::vector<cluster::WarmupReport> Reports();

 private:
  ShareRestorer(cache::Engine* engine, HeadDatasets* datasets, HeldVersions* held);
  void Run();
  // True once nothing is missing of any version that others hold.
  bool Pass();
  // True when all of the share is here.
  bool Restore(const HeldElsewhere& held);
  bool WasWarm(const HeldElsewhere& held, const Share& share);
  // What no peer gave.
  Share FromPeers(const cluster::WarmupOrder& order, const Share& share,
                  cluster::WarmupReport* report);
  bool BringUnit(WantedChunks wanted, const cluster::WarmupOrder& order);
  void FromSource(const Share& rest, cluster::WarmupReport* report);
  // Rests, and as long as fills wait; false when the node ends or has no room left.
  bool MayGoOn(milliseconds rest);
  bool stopping();
  void Note(std::optional<cluster::WarmupReport> report);

  cache::Engine* engine_;
  HeadDatasets* datasets_;
  HeldVersions* held_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::optional<cluster::WarmupReport> report_;
  std::thread thread_;
};

}  // namespace forebay::node
