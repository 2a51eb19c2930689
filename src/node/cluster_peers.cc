#include "node/cluster_peers.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "cluster/json_fields.h"
#include "node/cluster_chunks.h"
#include "node/cluster_rows.h"

namespace forebay::node {
namespace {

struct Room {
  uint64_t bytes = 0;
  size_t nodes = 0;  // that have told
};

Room RoomOf(const std::string& nodes) {
  auto fields = cluster::JsonFields::Parse(nodes, "the list of nodes");
  Room room;
  for (const auto& node : fields.Array("nodes")) {
    cluster::JsonFields report(cluster::JsonFields(node, "a node").Any("report"),
                               "a node's report");
    auto tiers = report.Array("tiers");
    room.nodes += tiers.empty() ? 0 : 1;
    for (const auto& tier : tiers) {
      uint64_t capacity = cluster::JsonFields(tier, "a tier").Number("capacity_bytes");
      // A tier without a quota has room for all.
      if (capacity == 0) return {std::numeric_limits<uint64_t>::max(), SIZE_MAX};
      room.bytes += capacity;
    }
  }
  return room;
}

constexpr milliseconds kReportPause{100};

}  // namespace

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

Result<cache::GatheredRows> ClusterPeers::Gather(const cache::RowRequest& request) {
  return ClusterRows(this, &request).Run();
}

// As the nodes' own reports tell it; members that are down keep what they have. A node
// that has just joined reports with its next heartbeat, as all do to a head that has just
// begun.
uint64_t ClusterPeers::RoomBytes(Deadline deadline) {
  Cluster& cluster = *options_.cluster;
  for (;;) {
    auto answer = cluster.link().Get("/v1/nodes", deadline);
    Room room = answer.ok() ? RoomOf(*answer) : Room{};
    if (room.nodes >= std::max<size_t>(cluster.link().roster()->members().size(), 1)) {
      cluster.set_room_bytes(room.bytes);
    }
    uint64_t bytes = cluster.room_bytes();  // may be that of a while ago
    if (bytes > 0 || deadline.passed()) {
      return bytes / std::max<uint32_t>(options_.replicas, 1);
    }
    std::this_thread::sleep_for(kReportPause);
  }
}

}  // namespace forebay::node
