// Peers of a fill in a cluster. The first member in a unit's route fills it from the
// source, for all; everybody else asks the route in order. Whoever is about to read the
// source first asks those who may have the chunks already.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/peers.h"
#include "node/cluster.h"

namespace forebay::node {

class ClusterPeers : public cache::Peers {
 public:
  enum class Asked {
    kByReader,  // a reader of this host
    kByPeer,    // another member: never passed on, or calls could run in circles
  };
  struct Options {
    std::shared_ptr<Cluster> cluster;
    std::string dataset;
    uint32_t replicas = 1;
    Asked asked = Asked::kByReader;
  };
  explicit ClusterPeers(Options options) : options_(std::move(options)) {}

  Result<std::vector<cache::FillChunk>> Bring(const cache::FillRequest& request,
                                              const cache::FillContext& context) override;
  Result<std::optional<cache::FileFilled>> BringFile(
      const cache::FileRequest& request) override;
  bool WaitsForFills(const Hash128& unit) const override;
  Result<cache::GatheredRows> Gather(const cache::RowRequest& request) override;
  uint64_t RoomBytes() override;
  const Options& options() const { return options_; }

  struct Candidate {
    cluster::Member member;
    bool stored_only;  // it may have the chunks, but is not to fill them
  };
  // Whom to ask for a unit, best first.
  std::vector<Candidate> Candidates(const Hash128& unit) const;

 private:
  flight::ChunkRequest RequestOf(const Hash128& version) const;

  Options options_;
};

}  // namespace forebay::node
