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
  for (size_t i = 0; i < route.size(); ++i) {
    const cluster::Member& member = roster->members()[route[i]];
    if (cluster.IsSelf(member)) {
      // Those before this node fill for it; those after it can only have it.
      fills = fills || (i < options_.replicas && cluster.link().MayOwn());
    } else if (!cluster.calls().Avoided(member)) {
      candidates.push_back({member, fills || i >= options_.replicas});
    }
  }
  return candidates;
}

Result<std::vector<cache::FillChunk>> ClusterPeers::Bring(
    const cache::FillRequest& request, const cache::FillContext& context) {
  return ClusterChunks(this, &request, &context).Run();
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
