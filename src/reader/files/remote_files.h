// A version of a tree of files as this host's node serves it: the manifest, and chunks
// mapped on demand. Goes on when the node dies and in a forked child. Thread-safe:
// threads that find their bytes mapped do not wait for those that ask the node, and
// several ask it at once.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/files_manifest.h"
#include "reader/files/files_link.h"

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

class RemoteFiles {
 public:
  static Result<std::shared_ptr<RemoteFiles>> Open(const std::string& uri,
                                                   OpenOptions options);
  // A version that another process opened: the manifest is the one it had, and the node
  // is asked nothing yet. `uri` is absolute, `options` are complete.
  static Result<std::shared_ptr<RemoteFiles>> Resume(
      const std::string& uri, OpenOptions options,
      std::shared_ptr<const PinnedFiles> pinned);
  ~RemoteFiles();

  const std::string& uri() const { return context_.uri; }
  const std::shared_ptr<const model::FilesManifest>& manifest() const {
    return pinned_->manifest;
  }
  const std::shared_ptr<const PinnedFiles>& pinned() const { return pinned_; }
  milliseconds timeout() const { return context_.options.timeout; }
  // Mappings beyond these are let go of, least recently used first. 0: no limit of bytes,
  // and a number that leaves room for what else a process maps.
  void LimitMapped(uint64_t bytes, size_t count);

  // Bytes of a file from `offset` on, at least one; empty at its end. Waits for the node
  // and the source only if they are not mapped here.
  Result<FileBytes> At(uint32_t file, uint64_t offset);
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
  Result<FileDescriptor> Descriptor(uint32_t file, uint64_t offset);
  // A chunk by its ref, packs included, mapped for the caller and not kept for others.
  Result<std::shared_ptr<const MappedChunk>> Chunk(model::ChunkRef ref);

  // Hint, never waits and never fails: these will be needed.
  void Want(std::span<const model::ChunkRef> refs);
  Result<wire::WarmupState> Warmup(
      const std::function<void(const wire::WarmupState&)>& report);
  Result<wire::Coverage> Coverage();
  Result<uint32_t> NodePid();
  // Hears what was evicted; for who finds everything mapped and never asks the node.
  void Poll() { PollNowAndThen(); }
  // Lets go of mappings that nobody uses now.
  void ForgetUnused();
  // Lets go of the pages of everything that is mapped, the manifest included: they come
  // again when they are touched.
  void LetGoOfPages();

  // Mappings a process keeps, below the usual limit of 65530 for all.
  static constexpr size_t kMappedMax = 20'000;

 private:
  using ChunkPtr = std::shared_ptr<MappedChunk>;
  class Lent;  // a link taken from the shelf, and put back

  RemoteFiles(std::string uri, OpenOptions options);
  void CheckFork();
  model::ChunkRef RefOf(uint32_t file, uint64_t offset) const;
  FileBytes Cut(const ChunkPtr& chunk, uint32_t file, uint64_t offset) const;
  ChunkPtr Keep(FilesLink& link, ChunkPtr chunk);
  // With the lock held; what is dropped is unmapped by the caller, without it.
  void DropUnused(std::vector<ChunkPtr>* dropped);
  void DropOldest(std::vector<ChunkPtr>* dropped);
  void OnEvicted(const std::vector<model::ChunkRef>& refs);
  std::vector<ChunkPtr> Held(const Unmapped* by);
  void PollNowAndThen();
  Deadline NewDeadline() const { return Deadline::After(context_.options.timeout); }

  FilesLink::Context context_;
  std::shared_ptr<const PinnedFiles> pinned_;

  std::mutex mutex_;  // of all below; never held while the node is asked
  pid_t pid_;
  struct Kept {
    ChunkPtr chunk;
    uint64_t used = 0;  // when last, by uses_
  };
  std::unordered_map<model::ChunkRef, Kept> mapped_;
  uint64_t uses_ = 0;
  uint64_t mapped_bytes_ = 0;
  uint64_t mapped_bytes_max_ = 0;
  size_t mapped_count_max_ = kMappedMax;
  std::vector<std::unique_ptr<FilesLink>> idle_;
  size_t link_count_ = 0;
  std::condition_variable returned_;
  TimePoint polled_;
};

}  // namespace forebay::reader
