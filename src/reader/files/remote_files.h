// A version of a tree of files as this host's node serves it: the manifest, and chunks
// mapped on demand. Goes on when the node dies and in a forked child. Thread-safe:
// threads that find their bytes mapped do not wait for those that ask the node, and
// several ask it at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/files_manifest.h"
#include "reader/files/files_link.h"
#include "reader/files/link_pool.h"
#include "reader/files/mapped_chunks.h"

namespace forebay::reader {

// Bytes of a file, from some place on to its end or the end of the chunk they are in.
// They stay readable while `chunk` lives, whatever the node does.
struct FileBytes {
  std::shared_ptr<const MappedChunk> chunk;
  std::string_view bytes;
};

// The same as a descriptor: for copying without a mapping, and for the kernel.
struct FileDescriptor {
  UniqueFd fd;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// What all versions of a mount share; what is null, a version has for itself.
struct FilesShare {
  std::shared_ptr<LinkPool> links;
  std::shared_ptr<MappedChunks> mapped;
};

class RemoteFiles {
 public:
  // `open_timeout` is for the listing alone; none: as long as any other call.
  static Result<std::shared_ptr<RemoteFiles>> Open(
      const std::string& uri, OpenOptions options, FilesShare share = {},
      std::optional<milliseconds> open_timeout = {});
  // A version that another process opened: the manifest is the one it had, and the node
  // is asked nothing yet. `uri` is absolute, `options` are complete.
  static std::shared_ptr<RemoteFiles> Resume(const std::string& uri, OpenOptions options,
                                             std::shared_ptr<const PinnedFiles> pinned,
                                             FilesShare share = {});
  ~RemoteFiles();

  const std::string& uri() const { return tree_->uri; }
  const std::shared_ptr<const model::FilesManifest>& manifest() const {
    return tree_->pinned->manifest;
  }
  const std::shared_ptr<const PinnedFiles>& pinned() const { return tree_->pinned; }
  milliseconds timeout() const { return tree_->options.timeout; }
  Deadline NewDeadline() const { return Deadline::After(timeout()); }

  // Bytes of a file from `offset` on, at least one; empty at its end. Waits for the node
  // and the source only if they are not mapped here. Of many that wait, those with the
  // shortest deadlines may ask beside the others: LinkPool::kBriskTime.
  Result<FileBytes> At(uint32_t file, uint64_t offset, Deadline deadline);
  Result<FileBytes> At(uint32_t file, uint64_t offset) {
    return At(file, offset, NewDeadline());
  }
  // The same, without ever waiting for anybody: nullopt when they are not mapped.
  std::optional<FileBytes> TryAt(uint32_t file, uint64_t offset);
  // Fills `into` from `offset` on; returns how much there was.
  Result<size_t> Read(uint32_t file, uint64_t offset, std::span<std::byte> into);
  // Brings what is missing of these places with few messages, all fills at once, so that
  // At finds it. What is evicted meanwhile comes again when it is asked for.
  struct Place {
    uint32_t file = 0;
    uint64_t offset = 0;
  };
  Status Bring(std::span<const Place> places);
  Result<FileDescriptor> Descriptor(uint32_t file, uint64_t offset, Deadline deadline);
  Result<FileDescriptor> Descriptor(uint32_t file, uint64_t offset) {
    return Descriptor(file, offset, NewDeadline());
  }
  // A chunk by its ref, packs included, mapped for the caller and not kept for others.
  Result<std::shared_ptr<const MappedChunk>> Chunk(model::ChunkRef ref);

  // Hint, never fails and waits for nobody but a node that must hear of the version
  // first: these will be needed.
  void Want(std::span<const model::ChunkRef> refs);
  Result<wire::WarmupState> Warmup(
      const std::function<void(const wire::WarmupState&)>& report);
  Result<wire::Coverage> Coverage();
  Result<uint32_t> NodePid();
  // Lets go of the pages of the manifest: they come again when they are touched.
  void LetGoOfPages();

 private:
  RemoteFiles(FilesTree tree, FilesShare share);
  void CheckFork();
  void PollNowAndThen();
  model::ChunkRef RefOf(uint32_t file, uint64_t offset) const;
  FileBytes Cut(const ChunkPtr& chunk, uint32_t file, uint64_t offset) const;
  // Asks the node for chunks, and keeps them mapped.
  Status Map(std::span<const model::ChunkRef> refs, ChunkPtr* last, Deadline deadline);
  Status MapBy(std::span<const model::ChunkRef> refs, ChunkPtr* last, Deadline deadline);

  std::shared_ptr<FilesTree> tree_;  // as it is once it was opened
  std::shared_ptr<LinkPool> links_;
  std::atomic<pid_t> pid_;
  std::atomic<int64_t> poll_at_;
};

}  // namespace forebay::reader
