#include "node/peer_chunks.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/any_manifest.h"
#include "node/cluster_peers.h"
#include "node/open_view.h"
#include "node/peer_files.h"

namespace forebay::node {
namespace {

constexpr milliseconds kServedChunkPoll{25};   // how often a waiting call looks around
constexpr milliseconds kLearnTimeout{20'000};  // to learn of a version
constexpr size_t kVersionsMax = 32;

Result<flight::ServedChunk> ToServed(const storage::Chunk& chunk) {
  FB_RETURN_NOT_OK(storage::CheckMappable(chunk));
  return flight::ServedChunk{
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
    while (futures_[i].wait_for(kServedChunkPoll) != std::future_status::ready) {
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

// The same peers, asked for others.
std::shared_ptr<cache::Peers> AskedByPeer(const std::shared_ptr<cache::Peers>& peers) {
  ClusterPeers::Options options = static_cast<const ClusterPeers&>(*peers).options();
  options.asked = ClusterPeers::Asked::kByPeer;
  return std::make_shared<ClusterPeers>(std::move(options));
}

Result<std::vector<storage::Chunk>> StoredChunks(
    cache::Engine& engine, const cache::View& view,
    const std::vector<model::ChunkRef>& refs) {
  std::vector<storage::Chunk> chunks;
  Deadline deadline = Deadline::After(kPeerStoreTime);
  for (const model::ChunkRef& ref : refs) {
    FB_ASSIGN_OR_RETURN(storage::Chunk chunk,
                        engine.store().Get(view.Key(ref), deadline));
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

}  // namespace

Result<std::unique_ptr<flight::ServedChunks>> PeerChunks::Serve(
    const flight::ChunkRequest& request) {
  // Flight listens before the node has joined.
  FB_ASSIGN_OR_RETURN(auto home, datasets_->Joined());
  FB_ASSIGN_OR_RETURN(PeersVersion version, VersionOf(request.table, *home));
  if (!request.stored_only && !home->link().MayOwn()) {
    return Status::Unavailable(
        "this node has not heard from the head for a while, so it fills for nobody");
  }
  if (version.table != nullptr) return ServeTable(version.table, request);
  return request.stored_only ? ServeStoredFiles(engine_, version.files, request)
                             : ServeFiles(engine_, version.files, request);
}

Result<std::unique_ptr<flight::ServedChunks>> PeerChunks::ServeTable(
    const std::shared_ptr<const cache::Version>& version,
    const flight::ChunkRequest& request) {
  OpenView open{.view = {version, request.columns}};
  if (request.columns.empty()) return Status::Invalid("chunks of a table have columns");
  FB_RETURN_NOT_OK(open.CheckColumns());
  FB_RETURN_NOT_OK(open.Check(request.refs));
  if (request.stored_only) {
    FB_ASSIGN_OR_RETURN(auto chunks, StoredChunks(*engine_, open.view, request.refs));
    return std::make_unique<Stored>(std::move(chunks));
  }
  cache::ClientId client = NextPeerClient();
  auto futures = engine_->fills().Request(
      open.view, request.refs,
      {.client = client, .deadline = Deadline::After(kPeerStoreTime)});
  return std::make_unique<Filled>(engine_, client, std::move(futures));
}

Result<PeerChunks::PeersVersion> PeerChunks::VersionOf(const flight::TableName& table,
                                                       Cluster& home) {
  if (table.dataset.empty() || !table.version) {
    return Status::Invalid("peers ask for versions of datasets of their cluster");
  }
  {
    std::lock_guard lock(mutex_);
    auto found = versions_.find({table.dataset, *table.version});
    if (found != versions_.end()) {
      found->second.used = ++uses_;
      return found->second.version;
    }
  }
  FB_ASSIGN_OR_RETURN(
      std::string manifest,
      home.link().Get(fmt::format("/v1/versions/{}/manifest", table.version->ToHex()),
                      Deadline::After(kLearnTimeout)));
  FB_ASSIGN_OR_RETURN(PeersVersion version,
                      Adopt(datasets_->HomeUri(table.dataset), std::move(manifest)));
  std::lock_guard lock(mutex_);
  if (versions_.size() >= kVersionsMax) {
    versions_.erase(std::ranges::min_element(
        versions_, {}, [](const auto& known) { return known.second.used; }));
  }
  Known known{std::move(version), ++uses_};
  return versions_.try_emplace({table.dataset, *table.version}, std::move(known))
      .first->second.version;
}

Result<PeerChunks::PeersVersion> PeerChunks::Adopt(const std::string& uri,
                                                   std::string manifest) {
  std::shared_ptr<const void> unowned(&manifest, [](const void*) {});
  FB_ASSIGN_OR_RETURN(auto any, model::AnyManifest::View(manifest, unowned));
  if (any.files() != nullptr) {
    FB_ASSIGN_OR_RETURN(auto version,
                        engine_->files().catalog().Adopt(uri, {}, std::move(manifest)));
    auto own = std::make_shared<cache::FilesVersion>(*version);
    own->peers = AskedByPeer(version->peers);
    return PeersVersion{.files = std::move(own)};
  }
  FB_ASSIGN_OR_RETURN(auto version,
                      engine_->catalog().Adopt(uri, {}, std::move(manifest)));
  auto own = std::make_shared<cache::Version>(*version);
  own->peers = AskedByPeer(version->peers);
  return PeersVersion{.table = std::move(own)};
}

}  // namespace forebay::node
