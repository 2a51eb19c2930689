// A node's part in a cluster: joins it, tells the head how it is, serves other members
// and Flight clients, carries out what the head orders.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "flight/service.h"
#include "node/head_datasets.h"
#include "node/held_versions.h"
#include "node/node.h"
#include "node/peer_chunks.h"
#include "node/share_restorer.h"
#include "node/share_warmer.h"

namespace forebay::node {

// A node's share of the data against the others', by what its store can hold.
double WeightOf(uint64_t capacity_bytes);

class Member {
 public:
  struct Options {
    std::vector<std::string> heads{};  // host:port each
    std::string id{};                  // empty: made of the advertised address
    std::string flight{};              // HOST:PORT to listen at
    std::string advertise{};  // host:port for others; empty: the host's name and the port
    double weight = 0;        // 0: the size of the store in GiB
    std::string http{};       // host:port of its metrics, for others; may be empty
  };
  // `node` and `datasets` must outlive this; the node does not serve yet.
  static Result<std::unique_ptr<Member>> Start(const Options& options, Node* node,
                                               HeadDatasets* datasets);
  ~Member();
  // Other members and Flight clients are served no longer.
  void StopServing() { flight_.reset(); }
  Cluster* cluster() { return cluster_.get(); }

 private:
  // The cluster's names for Flight clients.
  class Names : public flight::Datasets {
   public:
    explicit Names(HeadDatasets* datasets) : datasets_(datasets) {}
    Result<std::vector<flight::NamedDataset>> List() override;
    Result<flight::NamedDataset> Find(const std::string& name) override;

   private:
    HeadDatasets* datasets_;
  };

  Member(Node* node, HeadDatasets* datasets)
      : node_(node), names_(datasets), chunks_(&node->engine(), datasets) {}
  Status Join(const Options& options, HeadDatasets* datasets);
  std::string Report();

  Node* node_;
  Names names_;
  PeerChunks chunks_;
  std::unique_ptr<flight::Service> flight_;
  std::shared_ptr<Cluster> cluster_;
  std::unique_ptr<HeldVersions> held_;
  std::unique_ptr<ShareWarmer> warmer_;
  std::unique_ptr<ShareRestorer> restorer_;
  std::atomic<bool> joined_{false};  // the above are there for the link's thread
};

}  // namespace forebay::node
