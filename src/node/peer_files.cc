#include "node/peer_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "base/errno_status.h"
#include "storage/chunk_name.h"
#include "storage/file_io.h"

namespace forebay::node {
namespace {

using cache::FilesEngine;
using model::ChunkRef;

constexpr milliseconds kServedFilePoll{25};  // how often a waiting call looks around

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
  Hash128 key = version.Key(ref);
  return flight::ServedChunk{.key = key,
                             .size = size,
                             .checksum = HashBytes(bytes, storage::ChecksumSeed(key)),
                             .fd = std::move(fd)};
}

Result<flight::ServedChunk> ToServed(const cache::FilesVersion& version, ChunkRef wanted,
                                     ChunkRef is, const storage::Chunk& chunk) {
  if (is != wanted) return OutOfPack(version, wanted, chunk);
  FB_RETURN_NOT_OK(storage::CheckMappable(chunk));
  return flight::ServedChunk{
      .key = chunk.key, .size = chunk.size, .checksum = chunk.checksum, .fd = chunk.fd};
}

class FilledFiles : public flight::ServedChunks {
 public:
  FilledFiles(cache::Engine* engine, FilesEngine::Version version,
              std::vector<ChunkRef> refs)
      : engine_(engine),
        client_(NextPeerClient()),
        version_(std::move(version)),
        refs_(std::move(refs)),
        asked_(engine_->files().fills().Request(
            version_, refs_,
            {.client = client_, .deadline = Deadline::After(kPeerStoreTime)})) {}
  ~FilledFiles() override { engine_->files().Forget(client_); }

  Result<flight::ServedChunk> At(size_t i, const std::function<bool()>& ended) override {
    const auto& [ref, future] = asked_[i];
    while (future.wait_for(kServedFilePoll) != std::future_status::ready) {
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

// Copies of small files are made one at a time.
class StoredFiles : public flight::ServedChunks {
 public:
  StoredFiles(FilesEngine::Version version, std::vector<ChunkRef> refs)
      : version_(std::move(version)), refs_(std::move(refs)) {}

  // All of them, as they are in the store.
  Status Find(storage::Store& store) {
    Deadline deadline = Deadline::After(kPeerStoreTime);
    for (const ChunkRef& ref : refs_) {
      ChunkRef is = ref;
      auto stored = store.Get(version_->Key(ref), deadline);
      if (!stored.ok() && ref.group != model::kPackGroup) {
        is = version_->manifest->PackOf(ref.range).value_or(ref);
        stored = store.Get(version_->Key(is), deadline);
      }
      if (!stored.ok()) return stored.status();
      found_.push_back({is, *std::move(stored)});
    }
    return Status::OK();
  }

  Result<flight::ServedChunk> At(size_t i, const std::function<bool()>&) override {
    return ToServed(*version_, refs_[i], found_[i].first, found_[i].second);
  }

 private:
  FilesEngine::Version version_;
  std::vector<ChunkRef> refs_;
  std::vector<std::pair<ChunkRef, storage::Chunk>> found_;
};

}  // namespace

cache::ClientId NextPeerClient() {
  static std::atomic<cache::ClientId> next = cache::ClientId{1} << 63;
  return next++;
}

Result<std::unique_ptr<flight::ServedChunks>> ServeStoredFiles(
    cache::Engine* engine, const FilesEngine::Version& version,
    const flight::ChunkRequest& request) {
  FB_RETURN_NOT_OK(CheckRefs(*version->manifest, request.refs));
  auto files = std::make_unique<StoredFiles>(version, request.refs);
  FB_RETURN_NOT_OK(files->Find(engine->store()));
  return files;
}

Result<std::unique_ptr<flight::ServedChunks>> ServeFiles(
    cache::Engine* engine, const FilesEngine::Version& version,
    const flight::ChunkRequest& request) {
  FB_RETURN_NOT_OK(CheckRefs(*version->manifest, request.refs));
  return std::make_unique<FilledFiles>(engine, version, request.refs);
}

}  // namespace forebay::node
