#include "node/peer_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "base/errno_status.h"
#include "storage/file_io.h"

namespace forebay::node {
namespace {

using cache::FilesEngine;
using model::ChunkRef;

constexpr milliseconds kLook{25};  // how often a waiting call looks around

Status CheckRefs(const model::FilesManifest& manifest,
                 const std::vector<ChunkRef>& refs) {
  for (const ChunkRef& ref : refs) {
    if (!manifest.Contains(ref)) {
      return Status::Invalid("a peer asked for a chunk that this version does not have");
    }
  }
  return Status::OK();
}

// A small file out of its pack, as a chunk of its own.
Result<flight::ServedChunk> OutOfPack(const cache::FilesVersion& version, ChunkRef ref,
                                      const storage::Chunk& pack) {
  uint64_t size = version.manifest->ChunkBytes(ref);
  model::FilePlace place = version.manifest->PlaceOf(ref.range, 0);
  std::string bytes(size, '\0');
  ssize_t count = ::pread(pack.fd->get(), bytes.data(), bytes.size(),
                          static_cast<off_t>(place.offset));
  if (count != static_cast<ssize_t>(size)) {
    return Status::Corrupt("a pack of small files is shorter than its version says");
  }
  auto fd = std::make_shared<UniqueFd>(::memfd_create("forebay small file", MFD_CLOEXEC));
  if (!fd->valid()) return ErrnoStatus(errno, "make a memory file");
  FB_RETURN_NOT_OK(storage::WriteAll(fd->get(), bytes.data(), bytes.size()));
  return flight::ServedChunk{
      .key = version.Key(ref), .size = size, .checksum = {}, .fd = std::move(fd)};
}

Result<flight::ServedChunk> ToServed(const cache::FilesVersion& version, ChunkRef wanted,
                                     ChunkRef is, const storage::Chunk& chunk) {
  if (is != wanted) return OutOfPack(version, wanted, chunk);
  return flight::ServedChunk{
      .key = chunk.key, .size = chunk.size, .checksum = chunk.checksum, .fd = chunk.fd};
}

class StoredFiles : public flight::ServedChunks {
 public:
  explicit StoredFiles(std::vector<flight::ServedChunk> chunks)
      : chunks_(std::move(chunks)) {}
  Result<flight::ServedChunk> At(size_t i, const std::function<bool()>&) override {
    return chunks_[i];
  }

 private:
  std::vector<flight::ServedChunk> chunks_;
};

class FilledFiles : public flight::ServedChunks {
 public:
  FilledFiles(cache::Engine* engine, FilesEngine::Version version,
              std::vector<ChunkRef> refs)
      : engine_(engine),
        client_(NextPeerClient()),
        version_(std::move(version)),
        refs_(std::move(refs)),
        asked_(engine_->files().fills().Request(version_, refs_, cache::Need::kNow,
                                                client_)) {}
  ~FilledFiles() override { engine_->files().Forget(client_); }

  Result<flight::ServedChunk> At(size_t i, const std::function<bool()>& ended) override {
    const auto& [ref, future] = asked_[i];
    while (future.wait_for(kLook) != std::future_status::ready) {
      if (ended()) return Status::Cancelled("nobody waits for these chunks any more");
    }
    const Result<cache::Brought>& brought = future.get();
    if (!brought.ok()) return brought.status();
    return ToServed(*version_, refs_[i], ref, brought->chunk);
  }

 private:
  cache::Engine* engine_;
  cache::ClientId client_;
  FilesEngine::Version version_;
  std::vector<ChunkRef> refs_;
  std::vector<cache::FileFills::Asked> asked_;
};

Result<flight::ServedChunk> FromStore(storage::Store& store,
                                      const cache::FilesVersion& version, ChunkRef ref) {
  auto stored = store.Get(version.Key(ref));
  if (stored.ok()) return ToServed(version, ref, ref, *stored);
  if (ref.group == model::kPackGroup) return stored.status();
  auto pack = version.manifest->PackOf(ref.range);
  if (!pack) return stored.status();
  FB_ASSIGN_OR_RETURN(storage::Chunk chunk, store.Get(version.Key(*pack)));
  return ToServed(version, ref, *pack, chunk);
}

}  // namespace

cache::ClientId NextPeerClient() {
  static std::atomic<cache::ClientId> next = cache::ClientId{1} << 63;
  return next++;
}

Result<std::unique_ptr<flight::ServedChunks>> ServeStoredFiles(
    cache::Engine* engine, const FilesEngine::Version& version,
    const flight::ChunkRequest& request) {
  FB_RETURN_NOT_OK(CheckRefs(*version->manifest, request.refs));
  std::vector<flight::ServedChunk> chunks;
  for (const ChunkRef& ref : request.refs) {
    FB_ASSIGN_OR_RETURN(auto chunk, FromStore(engine->store(), *version, ref));
    chunks.push_back(std::move(chunk));
  }
  return std::make_unique<StoredFiles>(std::move(chunks));
}

Result<std::unique_ptr<flight::ServedChunks>> ServeFiles(
    cache::Engine* engine, const FilesEngine::Version& version,
    const flight::ChunkRequest& request) {
  FB_RETURN_NOT_OK(CheckRefs(*version->manifest, request.refs));
  return std::make_unique<FilledFiles>(engine, version, request.refs);
}

}  // namespace forebay::node
