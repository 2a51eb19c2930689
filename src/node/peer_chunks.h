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
  Result<std::shared_ptr<const cache::Version>> VersionOf(const flight::TableName& table);

  cache::Engine* engine_;
  HeadDatasets* datasets_;
  std::mutex mutex_;
  // As peers see them: fills that they ask for are never passed on.
  std::map<Hash128, std::shared_ptr<const cache::Version>> versions_;
};

}  // namespace forebay::node
