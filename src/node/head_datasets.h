// Datasets by name: asks the head that the name carries (forebay://head:7070/events), or
// the one this node is a member of. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/named_datasets.h"
#include "node/cluster.h"

namespace forebay::node {

// What a head tells everybody about a dataset.
struct HomeDataset {
  std::string name{};
  std::string version{};
  std::vector<std::string> columns{};  // empty: all
  uint32_t replicas = 1;

  friend bool operator==(const HomeDataset&, const HomeDataset&) = default;
};

class HeadDatasets : public cache::NamedDatasets {
 public:
  // Of a node that is nobody's member: it joins the cluster of each name as a client.
  HeadDatasets() = default;
  // From now on the node is a member of this one. Peers and Flight clients may have asked
  // before: a member listens before it registers, since it registers where it listens.
  void Join(std::shared_ptr<Cluster> home, std::vector<std::string> heads);

  // Of the cluster this node is a member of; kUnavailable before it has joined.
  Result<std::vector<HomeDataset>> FindHome(Deadline deadline);
  Result<cache::NamedDataset> Find(const std::string& uri, std::optional<Hash128> version,
                                   Deadline deadline) override;
  // The URI under which this node opens a dataset of its own cluster.
  std::string HomeUri(const std::string& dataset) const;
  // Null before it has joined one.
  std::shared_ptr<Cluster> home() const;
  // The same, or kUnavailable, for whoever may be told to ask again.
  Result<std::shared_ptr<Cluster>> Joined() const;
  // How often a dataset was opened here.
  uint64_t found_count() const { return found_count_; }
  // Whoever waits for a head is sent away soon.
  void Stop() { stopping_ = true; }

 private:
  Result<std::shared_ptr<Cluster>> ClusterOf(const std::string& head, Deadline deadline);
  Result<std::string> AskOn(Cluster& cluster, const std::string& path, Deadline patience);
  // Asks again while nobody answers and there is time.
  template <typename Ask>
  auto Insist(Ask ask, Deadline patience);

  std::atomic<uint64_t> found_count_{0};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // of all below
  std::shared_ptr<Cluster> home_;
  std::vector<std::string> heads_;                          // of home
  std::map<std::string, std::shared_ptr<Cluster>> others_;  // by head
};

}  // namespace forebay::node
