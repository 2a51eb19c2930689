#include "cache/files_engine.h"

#include <algorithm>
#include <deque>

#include "cache/failed_objects.h"

namespace forebay::cache {
namespace {

// Chunks a warm-up has in flight: enough to keep every fill thread busy.
constexpr size_t kWarmupChunksMax = 64;

using model::ChunkRef;
using model::EachChunk;
using model::FilesManifest;

uint64_t EmptyFiles(const FilesManifest& manifest) {
  uint64_t count = 0;
  for (const model::FileRecord& file : manifest.files()) count += file.size == 0 ? 1 : 0;
  return count;
}

std::vector<model::Object> ObjectsOf(const FilesManifest& manifest, ChunkRef ref) {
  if (ref.group != model::kPackGroup) return {manifest.object(ref.range)};
  std::vector<model::Object> objects;
  for (uint32_t file : manifest.members(manifest.packs()[ref.range])) {
    objects.push_back(manifest.object(file));
  }
  return objects;
}

class Warming {
 public:
  Warming(FileFills& fills, const FilesEngine::Version& version, const WarmupCall& call)
      : fills_(fills),
        version_(version),
        client_(call.client),
        deadline_(call.deadline) {}

  void Start(ChunkRef ref) {
    auto asked = fills_.Request(
        version_, {ref},
        {.need = Need::kSomeday, .client = client_, .deadline = deadline_});
    flights_.push_back({ref, std::move(asked[0].future)});
  }
  size_t in_flight() const { return flights_.size(); }

  Status Collect(Deadline deadline, WarmupProgress* progress) {
    auto [ref, future] = std::move(flights_.front());
    flights_.pop_front();
    if (future.wait_until(deadline.when()) != std::future_status::ready) {
      return Status::Deadline("the warm-up did not end in time");
    }
    const Result<Brought>& brought = future.get();
    if (brought.ok()) {
      ++progress->chunks_done;
      progress->bytes_stored += brought->chunk.size;
      progress->rows_done += model::FilesEndingIn(*version_->manifest, ref);
      return Status::OK();
    }
    ++progress->units_failed;
    std::ranges::move(
        FailedObjects(*version_->source, ObjectsOf(*version_->manifest, ref),
                      brought.status(), deadline),
        std::back_inserter(progress->failures));
    return Status::OK();
  }

 private:
  FileFills& fills_;
  const FilesEngine::Version& version_;
  const ClientId client_;
  const Deadline deadline_;
  std::deque<std::pair<ChunkRef, ChunkFuture>> flights_;
};

}  // namespace

FilesEngine::FilesEngine(const Options& options)
    : options_(options),
      catalog_({.store = options.store,
                .open_source = options.open_source,
                .named = options.named}) {}

FileFills& FilesEngine::fills() {
  std::lock_guard lock(mutex_);
  if (fills_ == nullptr) {
    fills_ = std::make_unique<FileFills>(
        FileFills::Options{.store = options_.store,
                           .read_pool = options_.read_pool,
                           .memory_bytes_max = options_.memory_bytes_max,
                           .memory = options_.memory});
  }
  return *fills_;
}

void FilesEngine::Forget(ClientId client) {
  std::lock_guard lock(mutex_);
  if (fills_ != nullptr) fills_->Forget(client);
}

void FilesEngine::Stop() {
  catalog_.Stop();
  fills().Stop();
}

FillQueue::Counters FilesEngine::counters() const {
  std::lock_guard lock(mutex_);
  return fills_ == nullptr ? FillQueue::Counters{} : fills_->counters();
}

Coverage FilesEngine::Covered(const FilesVersion& version) const {
  Coverage coverage;
  coverage.rows_stored = EmptyFiles(*version.manifest);
  EachChunk(*version.manifest, [&](ChunkRef ref) {
    bool stored = options_.store->Contains(version.Key(ref));
    ++coverage.chunk_count;
    coverage.chunks_stored += stored ? 1 : 0;
    if (stored) coverage.rows_stored += model::FilesEndingIn(*version.manifest, ref);
    return true;
  });
  return coverage;
}

Result<WarmupProgress> FilesEngine::Warmup(const Version& version,
                                           const WarmupCall& call) {
  std::vector<ChunkRef> all;
  EachChunk(*version->manifest, [&](ChunkRef ref) {
    all.push_back(ref);
    return true;
  });
  // Empty files are there without any chunk.
  uint64_t empty = EmptyFiles(*version->manifest);
  auto counted = [&](WarmupProgress progress) {
    progress.row_count += empty;
    progress.rows_done += empty;
    return progress;
  };
  WarmupCall of_chunks = call;
  of_chunks.report = [&](const WarmupProgress& progress) {
    return call.report(counted(progress));
  };
  FB_ASSIGN_OR_RETURN(auto progress, WarmupChunks(version, all, of_chunks));
  return counted(std::move(progress));
}

Result<WarmupProgress> FilesEngine::WarmupChunks(const Version& version,
                                                 std::span<const ChunkRef> chunks,
                                                 const WarmupCall& call) {
  WarmupProgress progress;
  for (ChunkRef ref : chunks) {
    progress.row_count += model::FilesEndingIn(*version->manifest, ref);
  }
  progress.chunk_count = chunks.size();
  uint64_t before = version->source->stats().bytes;
  Warming warming(fills(), version, call);
  Status status;
  auto collect = [&] {
    status = warming.Collect(call.deadline, &progress);
    progress.bytes_fetched = version->source->stats().bytes - before;
    if (status.ok() && !call.report(progress)) {
      status = Status::Cancelled("the warm-up was given up");
    }
    return status.ok();
  };
  for (ChunkRef ref : chunks) {
    warming.Start(ref);
    if (warming.in_flight() >= kWarmupChunksMax && !collect()) break;
  }
  while (status.ok() && warming.in_flight() > 0) collect();
  if (!status.ok()) return status;
  return progress;
}

}  // namespace forebay::cache
