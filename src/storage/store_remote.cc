// Chunks on tiers of other machines (NFS, SMB): readers get a copy, in a local tier where
// there is one with room, else in memory that lives as long as its handles. A mapping of
// the file itself would turn a hiccup of its server into a SIGBUS.
#include "base/log.h"
#include "storage/file_io.h"
#include "storage/store.h"
#include "storage/store_shelf.h"

namespace forebay::storage {

Result<Chunk> Store::ForReaders(size_t tier, const Chunk& chunk) {
  if (!shelves_[tier]->remote) return chunk;
  auto copy = CopyOfRemote(tier, chunk);
  if (copy.ok()) return copy;
  auto name = NameOf(tier, chunk.key);
  if (copy.status().code() == StatusCode::kCorrupt && name) Condemn(tier, *name);
  // As if it were not there: it can be had from its source.
  return Status::NotFound("a chunk on a remote tier cannot be read: " +
                          copy.status().message());
}

Result<Chunk> Store::CopyOfRemote(size_t tier, const Chunk& chunk) {
  for (size_t to = 0; to < tier; ++to) {
    if (shelves_[to]->remote) continue;
    Status copied = CopyToTier(tier, to, chunk.key);
    if (copied.code() == StatusCode::kCorrupt) return copied;
    auto found = copied.ok() ? GetFrom(to, chunk.key) : copied;
    if (found.ok()) return found;
  }
  return CopyToMemory(chunk);
}

std::shared_ptr<const UniqueFd> Store::LiveCopy(const Hash128& key) {
  std::lock_guard lock(mutex_);
  auto found = copies_.find(key);
  if (found == copies_.end()) return nullptr;
  auto live = found->second.lock();
  if (live == nullptr) copies_.erase(found);
  return live;
}

Result<Chunk> Store::CopyToMemory(const Chunk& chunk) {
  Chunk copy = chunk;
  copy.medium = model::Medium::kMem;
  copy.fd = LiveCopy(chunk.key);
  if (copy.fd != nullptr) return copy;
  FB_ASSIGN_OR_RETURN(Draft draft, memory_->NewDraft(chunk.size));
  Hasher hasher(ChecksumSeed(chunk.key));
  FB_RETURN_NOT_OK(ReadThrough(chunk.fd->get(), [&](const char* data, size_t size) {
    hasher.Update(data, size);
    return draft.Append(data, size);
  }));
  if (draft.size() != chunk.size || hasher.Digest() != chunk.checksum) {
    return Status::Corrupt("chunk checksum mismatch");
  }
  FB_ASSIGN_OR_RETURN(copy.fd, memory_->Publish(draft, {}, 0));
  std::lock_guard lock(mutex_);
  std::erase_if(copies_, [](const auto& known) { return known.second.expired(); });
  copies_[chunk.key] = copy.fd;
  return copy;
}

}  // namespace forebay::storage
