// A node's share of a version: the units of a table, or the chunks of a tree of files,
// that a roster places here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/engine.h"
#include "cluster/work.h"
#include "node/cluster_chunks.h"
#include "node/head_datasets.h"

namespace forebay::node {

struct Share {
  cache::View view{};  // of a table
  std::vector<uint32_t> units{};
  cache::FilesEngine::Version files{};  // of a tree; null: it is a table
  std::vector<model::ChunkRef> chunks{};

  size_t size() const { return files == nullptr ? units.size() : chunks.size(); }
};

// The version of an order, with nothing of it chosen yet. Asks the head.
Result<Share> OpenShare(const cluster::WarmupOrder& order, cache::Engine* engine,
                        HeadDatasets* datasets);
// Fills in what is placed here by the newest roster, and counts it.
cluster::WarmupReport ChooseShare(const cluster::WarmupOrder& order, Cluster& home,
                                  Share* share);
// How many units or chunks of the whole version each member owns, by its id, those that
// are down included.
std::map<std::string, uint64_t> OwnedCounts(const Share& share,
                                            const cluster::Roster& roster,
                                            uint32_t replicas);
// Brings these units or chunks into the store, from wherever fills get them.
Result<cache::WarmupProgress> LoadShare(const Share& share, cache::Engine* engine,
                                        const cache::WarmupCall& call);
// What the store lacks of the i-th unit or chunk, as it is asked of peers.
WantedChunks MissingOf(const Share& share, size_t i, storage::Store* store);

}  // namespace forebay::node
