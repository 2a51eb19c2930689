// One connection over which chunks of a files version are asked for. Goes on when the
// node dies: the next one is found or started and told the same version. Used by one
// thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/files_manifest.h"
#include "reader/mapped_chunk.h"
#include "reader/node_link.h"
#include "reader/remote_table.h"

namespace forebay::reader {

// A manifest as it came: mapped, and the descriptor to hand to the next node.
struct PinnedFiles {
  std::shared_ptr<const model::FilesManifest> manifest;
  UniqueFd fd;
};

class FilesLink {
 public:
  struct Context {
    std::string uri;
    OpenOptions options;
    // Hears of chunks that left the store.
    std::function<void(const std::vector<model::ChunkRef>&)> on_evicted;
    // What this process still maps that this link was handed; told to a new node.
    std::function<std::vector<std::shared_ptr<MappedChunk>>(const Unmapped*)> held;
  };
  // The context must outlive the link.
  FilesLink(const Context* context, std::shared_ptr<const PinnedFiles> pinned);

  // Opens the version that the source holds now, where none is pinned yet.
  Result<std::shared_ptr<const PinnedFiles>> Open(Deadline deadline);

  // Asks for chunks and gives each to `take` with its descriptor, in the order of `refs`.
  // The node may hand over a pack where a file of it was asked for.
  using Take = std::function<Status(const wire::ChunkHandle& handle, UniqueFd fd)>;
  Status Get(std::span<const model::ChunkRef> refs, const Take& take, Deadline deadline);
  // A mapping of what was taken. The node hears when it is let go of.
  Result<std::shared_ptr<MappedChunk>> Map(const wire::ChunkHandle& handle, int fd);
  // The chunk is not kept by this process.
  void Drop(const wire::ChunkHandle& handle);

  void Want(std::span<const model::ChunkRef> refs);
  Result<wire::WarmupState> Warmup(
      const std::function<void(const wire::WarmupState&)>& report, Deadline deadline);
  Result<wire::Coverage> Coverage(Deadline deadline);
  Result<uint32_t> NodePid(Deadline deadline);

  // Hears of evictions, tells of unmapped chunks; never waits for the node.
  void Poll();
  bool tight() const { return tight_; }
  // In a forked child: the connection is the parent's.
  void Abandon();

 private:
  Status EnsureOpen(Deadline deadline);
  Status TellHeld(Deadline deadline);
  Status WithNode(Deadline deadline, const std::function<Status()>& attempt);
  Result<size_t> TakeAnswer(Answer answer, size_t wanted, const Take& take);
  void TellUnmapped();

  const Context* context_;
  std::shared_ptr<const PinnedFiles> pinned_;
  NodeLink link_;
  uint64_t generation_ = 0;  // of the connection that knows the version as view_
  uint32_t view_ = 0;
  bool tight_ = false;
  std::shared_ptr<Unmapped> unmapped_;
};

}  // namespace forebay::reader
