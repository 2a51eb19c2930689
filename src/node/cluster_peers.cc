#include "node/cluster_peers.h"

#include <algorithm>
#include <limits>

#include "node/cluster_chunks.h"
#include "node/cluster_rows.h"

namespace forebay::node {

std::vector<ClusterPeers::Candidate> ClusterPeers::Candidates(const Hash128& unit) const {
  Cluster& cluster = *options_.cluster;
  auto roster = cluster.link().roster();
  // One more than there are replicas: where a member has just come, the one that it
  // displaced still has the chunks.
  auto route = roster->Route(unit, options_.replicas + 1);
  bool fills = options_.asked == Asked::kByPeer;
  std::vector<Candidate> candidates;
  std::vector<Candidate> last;
  for (size_t i = 0; i < route.size(); ++i) {
    const cluster::Member& member = roster->members()[route[i]];
    if (cluster.IsSelf(member)) {
      // Those before this node fill for it; those after it can only have it.
      fills = fills || (i < options_.replicas && cluster.link().MayOwn());
      continue;
    }
    auto fault = cluster.calls().Avoided(member);
    if (!fault) {
      candidates.push_back({member, fills || i >= options_.replicas});
    } else if (*fault == PeerCalls::Fault::kRefused) {
      last.push_back({member, true});
    }
  }
  std::ranges::move(last, std::back_inserter(candidates));
  return candidates;
}

Result<std::vector<cache::FillChunk>> ClusterPeers::Bring(
    const cache::FillRequest& request, const cache::FillContext& context) {
  const model::Manifest& manifest = request.view.manifest();
  WantedChunks wanted{.request = RequestOf(manifest.version()),
                      .unit = manifest.units()[request.unit].content,
                      .store = context.store,
                      .deadline = context.deadline};
  wanted.request.columns = request.view.columns;
  for (const cache::FillChunk& chunk : request.chunks) {
    wanted.chunks.push_back({chunk.ref, chunk.key});
  }
  wanted.on_chunk = [&](size_t i, const storage::Chunk& stored, cache::FillTimes times) {
    context.on_chunk(request.chunks[i], stored, times);
  };
  FB_ASSIGN_OR_RETURN(auto missing, ClusterChunks(this, &wanted).Run());
  std::vector<cache::FillChunk> rest;
  for (size_t i : missing) rest.push_back(request.chunks[i]);
  return rest;
}

Result<std::optional<cache::FileFilled>> ClusterPeers::BringFile(
    const cache::FileRequest& request) {
  const model::FilesManifest& manifest = *request.version->manifest;
  WantedChunks wanted{.request = RequestOf(manifest.version()),
                      .chunks = {{.ref = request.ref,
                                  .key = request.version->Key(request.ref),
                                  .size = manifest.ChunkBytes(request.ref)}},
                      .unit = model::FilePlacement(manifest, request.ref),
                      .kind = model::ChunkKind::kFile,
                      .store = request.store,
                      .deadline = request.deadline};
  std::optional<cache::FileFilled> filled;
  wanted.on_chunk = [&](size_t, storage::Chunk stored, cache::FillTimes times) {
    filled = cache::FileFilled{std::move(stored), times};
  };
  FB_RETURN_NOT_OK(ClusterChunks(this, &wanted).Run().status());
  return filled;
}

flight::ChunkRequest ClusterPeers::RequestOf(const Hash128& version) const {
  flight::ChunkRequest request;
  request.table.dataset = options_.dataset;
  request.table.version = version;
  return request;
}

bool ClusterPeers::WaitsForFills(const Hash128& unit) const {
  auto fills = [](const Candidate& candidate) { return !candidate.stored_only; };
  return std::ranges::any_of(Candidates(unit), fills);
}

Result<cache::GatheredRows> ClusterPeers::Gather(const cache::RowRequest& request) {
  return ClusterRows(this, &request).Run();
}

// Members that are down keep what they have.
uint64_t ClusterPeers::RoomBytes() {
  uint64_t bytes = 0;
  for (const cluster::Member& member : options_.cluster->link().roster()->members()) {
    constexpr uint64_t kNoQuota = std::numeric_limits<uint64_t>::max();
    if (member.store_bytes == kNoQuota) return kNoQuota;
    bytes += member.store_bytes;
  }
  return bytes / std::max<uint32_t>(options_.replicas, 1);
}

}  // namespace forebay::node
