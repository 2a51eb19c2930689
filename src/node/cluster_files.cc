// Chunks of trees of files from the nodes of a cluster: the first member in a chunk's
// route fills it from the source, for all.
#include "base/log.h"
#include "node/cluster_peers.h"

namespace forebay::node {
namespace {

// Stores the one chunk that was asked for.
class FileSink : public flight::ChunkSink {
 public:
  explicit FileSink(const cache::FileRequest& request) : request_(request) {}

  Status Begin(const Chunk& chunk) override {
    if (chunk.key != request_.version->Key(request_.ref) ||
        chunk.size != request_.version->manifest->ChunkBytes(request_.ref)) {
      return Status::Corrupt("a peer sent a chunk that it was not asked for");
    }
    coming_ = chunk;
    FB_ASSIGN_OR_RETURN(
        writer_, request_.store->Create(chunk.key, model::ChunkKind::kFile, chunk.size));
    return Status::OK();
  }
  Status Append(const void* data, size_t size) override {
    return writer_->Append(data, size);
  }
  Status End() override {
    if (coming_.checksum != Hash128{} && writer_->checksum() != coming_.checksum) {
      return Status::Corrupt("a chunk was damaged on its way from a peer");
    }
    FB_ASSIGN_OR_RETURN(storage::Chunk stored, writer_->Commit());
    writer_.reset();
    auto took = std::chrono::steady_clock::now() - start_;
    filled_ =
        cache::FileFilled{std::move(stored), {.peer = took, .source = {}, .decode = {}}};
    return Status::OK();
  }

  std::optional<cache::FileFilled>& filled() { return filled_; }

 private:
  const cache::FileRequest& request_;
  const TimePoint start_ = std::chrono::steady_clock::now();
  Chunk coming_;
  std::unique_ptr<storage::ChunkWriter> writer_;
  std::optional<cache::FileFilled> filled_;
};

}  // namespace

Result<std::optional<cache::FileFilled>> ClusterPeers::BringFile(
    const cache::FileRequest& request) {
  Cluster& cluster = *options_.cluster;
  const model::FilesManifest& manifest = *request.version->manifest;
  Hash128 unit = model::FilePlacement(manifest, request.ref);
  flight::ChunkRequest wanted;
  wanted.table.dataset = options_.dataset;
  wanted.table.version = manifest.version();
  wanted.refs.push_back(request.ref);
  bool let_down = false;
  for (const Candidate& candidate : Candidates(unit)) {
    wanted.stored_only = candidate.stored_only;
    PeerCalls::Scope call(&cluster.calls(), {candidate.member.id, unit});
    FileSink sink(request);
    Status status = cluster.client().FetchChunks(
        candidate.member.flight, wanted, sink,
        {.deadline = request.deadline, .stop = call.token()});
    if (sink.filled()) {
      ++cluster.counters().chunks;
      cluster.counters().bytes += sink.filled()->chunk.size;
      return std::move(sink.filled());
    }
    // The source would say the same.
    if (status.code() == StatusCode::kPermission ||
        status.code() == StatusCode::kChanged) {
      return status;
    }
    if (candidate.stored_only && status.code() == StatusCode::kNotFound) continue;
    let_down = true;
    ++cluster.counters().failed_calls;
    spdlog::warn("{} gave no files of {}: {}", candidate.member.id, options_.dataset,
                 status.message());
    if (status.code() == StatusCode::kUnavailable) {
      cluster.calls().Avoid(candidate.member);
    }
  }
  if (let_down) ++cluster.counters().fallbacks;
  return std::optional<cache::FileFilled>();
}

}  // namespace forebay::node
