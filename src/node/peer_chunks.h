// Serves chunks of this node's cluster to its other members: from the store, or filled
// from the source for all of them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "cache/engine.h"
#include "flight/chunk_provider.h"
#include "node/head_datasets.h"

namespace forebay::node {

class PeerChunks : public flight::ChunkProvider {
 public:
  // Both must outlive this.
  PeerChunks(cache::Engine* engine, HeadDatasets* datasets)
      : engine_(engine), datasets_(datasets) {}

  Result<std::unique_ptr<flight::ServedChunks>> Serve(
      const flight::ChunkRequest& request) override;

 private:
  // As peers see it: fills that they ask for are never passed on. One of them is null.
  struct PeersVersion {
    std::shared_ptr<const cache::Version> table{};
    std::shared_ptr<const cache::FilesVersion> files{};
  };
  Result<PeersVersion> VersionOf(const flight::TableName& table, Cluster& home);
  Result<PeersVersion> Adopt(const std::string& uri, std::string manifest);
  Result<std::unique_ptr<flight::ServedChunks>> ServeTable(
      const std::shared_ptr<const cache::Version>& version,
      const flight::ChunkRequest& request);

  cache::Engine* engine_;
  HeadDatasets* datasets_;
  std::mutex mutex_;
  struct Known {
    PeersVersion version;
    uint64_t used = 0;  // when, counted
  };
  using Key = std::pair<std::string, Hash128>;  // dataset, version
  std::map<Key, Known> versions_;
  uint64_t uses_ = 0;
};

}  // namespace forebay::node
