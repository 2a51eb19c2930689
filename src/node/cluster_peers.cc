#include "node/cluster_peers.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "base/log.h"
#include "cluster/json_fields.h"
#include "node/cluster_rows.h"

namespace forebay::node {
namespace {

// Stores chunks as they arrive.
class StoringSink : public flight::ChunkSink {
 public:
  StoringSink(const cache::FillRequest& request, const cache::FillContext& context)
      : request_(request), context_(context) {}

  Status Begin(const Chunk& chunk) override {
    if (chunk.index >= request_.chunks.size() ||
        chunk.key != request_.chunks[chunk.index].key) {
      return Status::Corrupt("a peer sent a chunk that it was not asked for");
    }
    coming_ = chunk;
    FB_ASSIGN_OR_RETURN(
        writer_, context_.store->Create(chunk.key, model::ChunkKind::kTable, chunk.size));
    return Status::OK();
  }
  Status Append(const void* data, size_t size) override {
    return writer_->Append(data, size);
  }
  Status End() override {
    if (writer_->checksum() != coming_.checksum) {
      return Status::Corrupt("a chunk was damaged on its way from a peer");
    }
    FB_ASSIGN_OR_RETURN(storage::Chunk stored, writer_->Commit());
    writer_.reset();
    auto took = std::chrono::steady_clock::now() - start_;
    context_.on_chunk(request_.chunks[coming_.index], stored,
                      {.peer = took, .source = {}, .decode = {}});
    bytes_ += coming_.size;
    ++count_;
    return Status::OK();
  }

  size_t count() const { return count_; }  // they come in order
  uint64_t bytes() const { return bytes_; }

 private:
  const cache::FillRequest& request_;
  const cache::FillContext& context_;
  const TimePoint start_ = std::chrono::steady_clock::now();
  Chunk coming_;
  std::unique_ptr<storage::ChunkWriter> writer_;
  size_t count_ = 0;
  uint64_t bytes_ = 0;
};

// What the source would answer too.
bool IsFinal(StatusCode code) {
  return code == StatusCode::kPermission || code == StatusCode::kChanged;
}

struct Room {
  uint64_t bytes = 0;
  bool complete = true;  // every node has told
};

Room RoomOf(const std::string& nodes) {
  auto fields = cluster::JsonFields::Parse(nodes, "the list of nodes");
  Room room;
  for (const auto& node : fields.Array("nodes")) {
    cluster::JsonFields report(cluster::JsonFields(node, "a node").Any("report"),
                               "a node's report");
    auto tiers = report.Array("tiers");
    if (tiers.empty()) room.complete = false;
    for (const auto& tier : tiers) {
      uint64_t capacity = cluster::JsonFields(tier, "a tier").Number("capacity_bytes");
      // A tier without a quota has room for all.
      if (capacity == 0) return {.bytes = std::numeric_limits<uint64_t>::max()};
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
  const Hash128& unit = request.view.manifest().units()[request.unit].content;
  cache::FillRequest rest = request;
  bool let_down = false;
  for (const Candidate& candidate : Candidates(unit)) {
    Status status = Ask(candidate, context, &rest);
    if (rest.chunks.empty()) return rest.chunks;
    if (IsFinal(status.code())) return status;
    if (candidate.stored_only && status.code() == StatusCode::kNotFound) continue;
    let_down = true;
    ++options_.cluster->counters().failed_calls;
    spdlog::warn("{} gave no chunks of {}: {}", candidate.member.id, options_.dataset,
                 status.message());
    if (status.code() == StatusCode::kUnavailable) {
      options_.cluster->calls().Avoid(candidate.member);
    }
  }
  if (let_down) ++options_.cluster->counters().fallbacks;
  return rest.chunks;
}

Status ClusterPeers::Ask(const Candidate& candidate, const cache::FillContext& context,
                         cache::FillRequest* request) {
  Cluster& cluster = *options_.cluster;
  const model::Manifest& manifest = request->view.manifest();
  flight::ChunkRequest wanted;
  wanted.table.dataset = options_.dataset;
  wanted.table.version = manifest.version();
  wanted.columns = request->view.columns;
  wanted.stored_only = candidate.stored_only;
  for (const cache::FillChunk& chunk : request->chunks) wanted.refs.push_back(chunk.ref);
  PeerCalls::Scope call(&cluster.calls(),
                        {candidate.member.id, manifest.units()[request->unit].content});
  StoringSink sink(*request, context);
  Status status =
      cluster.client().FetchChunks(candidate.member.flight, wanted, sink,
                                   {.deadline = context.deadline, .stop = call.token()});
  cluster.counters().chunks += sink.count();
  cluster.counters().bytes += sink.bytes();
  auto came = static_cast<std::ptrdiff_t>(sink.count());
  request->chunks.erase(request->chunks.begin(), request->chunks.begin() + came);
  return status;
}

Result<cache::GatheredRows> ClusterPeers::Gather(const cache::RowRequest& request) {
  return ClusterRows(this, &request).Run();
}

// As the nodes' own reports tell it; members that are down keep what they have. A node
// that has just joined reports with its next heartbeat.
uint64_t ClusterPeers::RoomBytes(Deadline deadline) {
  for (;;) {
    auto answer = options_.cluster->link().Get("/v1/nodes", deadline);
    if (!answer.ok()) return 0;
    Room room = RoomOf(*answer);
    if (room.complete || deadline.passed()) {
      return room.bytes / std::max<uint32_t>(options_.replicas, 1);
    }
    std::this_thread::sleep_for(kReportPause);
  }
}

}  // namespace forebay::node
