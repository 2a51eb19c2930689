// Carries out the head's warm-ups: brings this node's share of each ordered version into
// the store. One thread; orders and reports come and go by others.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cache/engine.h"
#include "cluster/work.h"
#include "node/head_datasets.h"
#include "node/held_versions.h"

namespace forebay::node {

class ShareWarmer {
 public:
  // All must outlive this; the datasets have joined a cluster. kFull when its thread
  // cannot be started.
  static Result<std::unique_ptr<ShareWarmer>> Start(cache::Engine* engine,
                                                    HeadDatasets* datasets,
                                                    HeldVersions* held);
  ~ShareWarmer();

  // All that is wanted now. What is not in it any more is given up.
  void Take(const std::vector<cluster::WarmupOrder>& orders);
  std::vector<cluster::WarmupReport> Reports();

 private:
  struct Task {
    cluster::WarmupOrder order;
    cluster::WarmupReport report;
  };

  ShareWarmer(cache::Engine* engine, HeadDatasets* datasets, HeldVersions* held);
  void Run();
  // The next one whose share is not done by the newest roster; the lock is held.
  Task* NextTask();
  void Warm(const cluster::WarmupOrder& order);
  // False when the order was withdrawn.
  bool Note(const cluster::WarmupReport& report);

  cache::Engine* engine_;
  HeadDatasets* datasets_;
  HeldVersions* held_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::map<std::string, Task> tasks_;  // by operation
  std::thread thread_;
};

}  // namespace forebay::node
