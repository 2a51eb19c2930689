// One connection over which chunks of files versions are asked for. Goes on when the
// node dies: the next one is found or started and told the same versions. Used by one
// thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "model/files_manifest.h"
#include "reader/files/mapped_chunks.h"
#include "reader/node_link.h"
#include "reader/remote_table.h"

namespace forebay::reader {

// A manifest as it came: mapped, and the descriptor to hand to the next node.
class PinnedFiles {
 public:
  PinnedFiles(std::shared_ptr<const model::FilesManifest> mapped, UniqueFd came_as)
      : manifest(std::move(mapped)), fd_(std::move(came_as)) {}

  // The descriptor; a copy of the manifest where it was closed.
  Result<UniqueFd> Descriptor() const;
  // For versions that hardly any node will hear of again.
  void CloseDescriptor() const;

  const std::shared_ptr<const model::FilesManifest> manifest;

 private:
  mutable std::mutex mutex_;
  mutable UniqueFd fd_;
};

// A version of a tree, as whoever asks for its chunks knows it.
struct FilesTree {
  std::string uri;
  OpenOptions options;
  std::shared_ptr<const PinnedFiles> pinned{};  // none yet: what the source holds now
  std::shared_ptr<MappedChunks> mapped{};       // what this process keeps of it
};
using FilesTreePtr = std::shared_ptr<const FilesTree>;

class FilesLink {
 public:
  explicit FilesLink(NodeOptions node);

  // Opens the version that the source holds now, where none is pinned yet.
  Result<std::shared_ptr<const PinnedFiles>> Open(const FilesTreePtr& tree,
                                                  Deadline deadline);

  // Asks for chunks and gives each to `take` with its descriptor, in the order of `refs`.
  // The node may hand over a pack where a file of it was asked for.
  using Take = std::function<Status(const wire::ChunkHandle& handle, UniqueFd fd)>;
  struct Asked {
    FilesTreePtr tree;
    std::span<const model::ChunkRef> refs;
  };
  Status Get(const Asked& asked, const Take& take, Deadline deadline);
  // A mapping of what `take` was just given. The node hears when it is let go of.
  Result<ChunkPtr> Map(const wire::ChunkHandle& handle, int fd);
  // What it was given is not kept by this process.
  void Drop(const wire::ChunkHandle& handle);

  void Want(const Asked& asked);
  Result<wire::WarmupState> Warmup(
      const FilesTreePtr& tree,
      const std::function<void(const wire::WarmupState&)>& report, Deadline deadline);
  Result<wire::Coverage> Coverage(const FilesTreePtr& tree, Deadline deadline);
  Result<uint32_t> NodePid(const FilesTreePtr& tree, Deadline deadline);

  // Hears of evictions, tells of unmapped chunks; never waits for the node.
  void Poll();
  bool tight() const { return tight_; }
  // In a forked child: the connection is the parent's.
  void Abandon();

 private:
  // What the node of this connection calls a version.
  struct View {
    const FilesTree* place = nullptr;  // to find it by
    std::weak_ptr<const FilesTree> tree;
    uint32_t number = 0;
  };
  Status EnsureOpen(const FilesTreePtr& tree, Deadline deadline);
  Result<wire::FilesOpened> AskToOpen(const FilesTreePtr& tree, Deadline deadline);
  Status TellHeld(const FilesTreePtr& tree, Deadline deadline);
  Status WithNode(const FilesTreePtr& tree, Deadline deadline,
                  const std::function<Status()>& attempt);
  Result<size_t> TakeAnswer(Answer answer, const Asked& asked, const Take& take);
  void OnEvicted(const wire::Evicted& evicted);
  void TellUnmapped();

  NodeLink link_;
  uint64_t generation_ = 0;  // of the connection that knows views_
  std::vector<View> views_;
  uint32_t view_ = 0;                          // of the version that was asked for last
  std::shared_ptr<const PinnedFiles> opened_;  // by the last Open
  bool tight_ = false;
  std::shared_ptr<Unmapped> unmapped_;
};

}  // namespace forebay::reader
