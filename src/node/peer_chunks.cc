#include "node/peer_chunks.h"

#include <fmt/format.h>

#include "node/cluster_peers.h"
#include "node/open_view.h"

namespace forebay::node {
namespace {

constexpr milliseconds kLook{25};          // how often a waiting call looks around
constexpr milliseconds kHeadTime{20'000};  // to learn of a version
constexpr size_t kVersionsMax = 256;

flight::ServedChunk ToServed(const storage::Chunk& chunk) {
  return {
      .key = chunk.key, .size = chunk.size, .checksum = chunk.checksum, .fd = chunk.fd};
}

class Stored : public flight::ServedChunks {
 public:
  explicit Stored(std::vector<storage::Chunk> chunks) : chunks_(std::move(chunks)) {}
  Result<flight::ServedChunk> At(size_t i, const std::function<bool()>&) override {
    return ToServed(chunks_[i]);
  }

 private:
  std::vector<storage::Chunk> chunks_;
};

class Filled : public flight::ServedChunks {
 public:
  Filled(cache::Engine* engine, cache::ClientId client,
         std::vector<cache::ChunkFuture> futures)
      : engine_(engine), client_(client), futures_(std::move(futures)) {}
  ~Filled() override { engine_->fills().Forget(client_); }

  Result<flight::ServedChunk> At(size_t i, const std::function<bool()>& ended) override {
    while (futures_[i].wait_for(kLook) != std::future_status::ready) {
      if (ended()) return Status::Cancelled("nobody waits for these chunks any more");
    }
    const Result<cache::Brought>& brought = futures_[i].get();
    if (!brought.ok()) return brought.status();
    return ToServed(brought->chunk);
  }

 private:
  cache::Engine* engine_;
  cache::ClientId client_;
  std::vector<cache::ChunkFuture> futures_;
};

// Sessions count up from 1.
std::atomic<cache::ClientId> next_client = cache::ClientId{1} << 63;

Result<std::vector<storage::Chunk>> StoredChunks(
    cache::Engine& engine, const cache::View& view,
    const std::vector<model::ChunkRef>& refs) {
  std::vector<storage::Chunk> chunks;
  for (const model::ChunkRef& ref : refs) {
    FB_ASSIGN_OR_RETURN(storage::Chunk chunk, engine.store().Get(view.Key(ref)));
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

}  // namespace

Result<std::unique_ptr<flight::ServedChunks>> PeerChunks::Serve(
    const flight::ChunkRequest& request) {
  FB_ASSIGN_OR_RETURN(auto version, VersionOf(request.table));
  OpenView open{.view = {version, request.columns}};
  FB_RETURN_NOT_OK(open.CheckColumns());
  FB_RETURN_NOT_OK(open.Check(request.refs));
  if (request.stored_only) {
    FB_ASSIGN_OR_RETURN(auto chunks, StoredChunks(*engine_, open.view, request.refs));
    return std::make_unique<Stored>(std::move(chunks));
  }
  if (!datasets_->home()->link().MayOwn()) {
    return Status::Unavailable(
        "this node has not heard from the head for a while, so it fills for nobody");
  }
  cache::ClientId client = next_client++;
  auto futures =
      engine_->fills().Request(open.view, request.refs, cache::Need::kNow, client);
  return std::make_unique<Filled>(engine_, client, std::move(futures));
}

Result<std::shared_ptr<const cache::Version>> PeerChunks::VersionOf(
    const flight::TableName& table) {
  if (table.dataset.empty() || !table.version) {
    return Status::Invalid("peers ask for versions of datasets of their cluster");
  }
  {
    std::lock_guard lock(mutex_);
    auto found = versions_.find(*table.version);
    if (found != versions_.end()) return found->second;
  }
  FB_ASSIGN_OR_RETURN(std::string manifest,
                      datasets_->home()->link().Get(
                          fmt::format("/v1/versions/{}/manifest", table.version->ToHex()),
                          Deadline::After(kHeadTime)));
  FB_ASSIGN_OR_RETURN(auto version,
                      engine_->catalog().Adopt(datasets_->HomeUri(table.dataset), {},
                                               std::move(manifest)));
  auto own = std::make_shared<cache::Version>(*version);
  const auto& peers = static_cast<const ClusterPeers&>(*version->peers);
  ClusterPeers::Options options = peers.options();
  options.asked = ClusterPeers::Asked::kByPeer;
  own->peers = std::make_shared<ClusterPeers>(std::move(options));
  std::lock_guard lock(mutex_);
  if (versions_.size() >= kVersionsMax) versions_.clear();
  return versions_.try_emplace(*table.version, std::move(own)).first->second;
}

}  // namespace forebay::node
