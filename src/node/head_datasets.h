// Datasets by name: asks the head that the name carries (forebay://head:7070/events), or
// the one this node is a member of. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
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
  // Ends all waits for a head at once.
  void Stop() { stop_.request_stop(); }

 private:
  Result<std::shared_ptr<Cluster>> ClusterOf(const std::string& head, Deadline deadline);
  // Null: it is not known. The mutex is held, as for the next one.
  std::shared_ptr<Cluster> FindKnown(const std::string& head);
  // Makes room for one more that no dataset uses.
  std::vector<std::shared_ptr<Cluster>> TakeIdle();
  static Result<std::string> AskOn(Cluster& cluster, const std::string& path,
                                   Deadline patience);
  // Asks again while nobody answers and there is time.
  template <typename Ask>
  static auto Insist(Ask ask, Deadline patience);

  std::atomic<uint64_t> found_count_{0};
  std::stop_source stop_;
  mutable std::mutex mutex_;  // of all below
  std::shared_ptr<Cluster> home_;
  std::vector<std::string> heads_;  // of home
  struct Known {
    std::shared_ptr<Cluster> cluster;
    uint64_t last_use = 0;
  };
  std::map<std::string, Known> others_;  // by head, as names have it
  uint64_t uses_ = 0;
};

}  // namespace forebay::node
