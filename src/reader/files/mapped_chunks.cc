#include "reader/files/mapped_chunks.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace forebay::reader {

void LetGoOfPages(std::string_view mapped) {
  if (mapped.empty()) return;
  // Shared mappings begin at a page; their pages stay in the page cache.
  (void)::madvise(const_cast<char*>(mapped.data()), mapped.size(), MADV_DONTNEED);
}

ChunkPtr MappedChunks::Find(Owner owner, std::span<const model::ChunkRef> refs) {
  std::lock_guard lock(mutex_);
  for (const model::ChunkRef& ref : refs) {
    auto found = mapped_.find({owner, ref});
    if (found == mapped_.end()) continue;
    found->second.used = ++uses_;
    return found->second.chunk;
  }
  return nullptr;
}

ChunkPtr MappedChunks::Keep(Owner owner, ChunkPtr chunk, bool tight) {
  Dropped dropped;
  std::lock_guard lock(mutex_);
  if (tight) DropUnused(&dropped);
  Kept& kept = mapped_[{owner, chunk->handed.ref}];
  kept.used = ++uses_;
  if (kept.chunk == nullptr) {
    bytes_ += chunk->mapping->size();
    kept.chunk = std::move(chunk);
  } else {
    dropped.push_back(std::move(chunk));
  }
  ChunkPtr out = kept.chunk;
  if (IsOver()) DropOldest(&dropped);
  return out;
}

bool MappedChunks::IsOver() const {
  return mapped_.size() > limits_.count || (limits_.bytes != 0 && bytes_ > limits_.bytes);
}

MappedChunks::Map::iterator MappedChunks::Drop(Map::iterator at, Dropped* dropped) {
  bytes_ -= at->second.chunk->mapping->size();
  dropped->push_back(std::move(at->second.chunk));
  return mapped_.erase(at);
}

void MappedChunks::DropUnused(Dropped* dropped) {
  for (auto at = mapped_.begin(); at != mapped_.end();) {
    at = at->second.chunk.use_count() > 1 ? std::next(at) : Drop(at, dropped);
  }
}

// A quarter at once, so that the search for the oldest is rare.
void MappedChunks::DropOldest(Dropped* dropped) {
  std::vector<std::pair<uint64_t, const Key*>> idle;
  for (const auto& [key, kept] : mapped_) {
    if (kept.chunk.use_count() == 1) idle.emplace_back(kept.used, &key);
  }
  std::ranges::sort(idle);
  uint64_t bytes_goal = limits_.bytes == 0 ? UINT64_MAX : limits_.bytes / 4 * 3;
  size_t count_goal = limits_.count / 4 * 3;
  for (const auto& [used, key] : idle) {
    if (bytes_ <= bytes_goal && mapped_.size() <= count_goal) return;
    Drop(mapped_.find(*key), dropped);
  }
}

void MappedChunks::DropIdle() {
  Dropped dropped;
  std::lock_guard lock(mutex_);
  DropUnused(&dropped);
}

void MappedChunks::Forget(Owner owner, std::span<const model::ChunkRef> refs) {
  Dropped dropped;
  std::lock_guard lock(mutex_);
  for (const model::ChunkRef& ref : refs) {
    auto found = mapped_.find({owner, ref});
    if (found != mapped_.end()) Drop(found, &dropped);
  }
}

void MappedChunks::ForgetAll(Owner owner) {
  Dropped dropped;
  std::lock_guard lock(mutex_);
  for (auto at = mapped_.begin(); at != mapped_.end();) {
    at = at->first.owner == owner ? Drop(at, &dropped) : std::next(at);
  }
}

std::vector<ChunkPtr> MappedChunks::HandedBy(Owner owner, const Unmapped* by) {
  std::lock_guard lock(mutex_);
  std::vector<ChunkPtr> held;
  for (const auto& [key, kept] : mapped_) {
    bool is = key.owner == owner && kept.chunk->unmapped.get() == by;
    if (is) held.push_back(kept.chunk);
  }
  return held;
}

// One at a time, so that nobody waits for long. Whoever uses a chunk got it under the
// lock, so that under it an idle one stays idle.
void MappedChunks::LetGoOfPages() {
  std::vector<Key> keys;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, kept] : mapped_) keys.push_back(key);
  }
  for (const Key& key : keys) {
    std::lock_guard lock(mutex_);
    auto found = mapped_.find(key);
    if (found == mapped_.end() || found->second.chunk.use_count() > 1) continue;
    reader::LetGoOfPages(found->second.chunk->mapping->bytes());
  }
}

size_t MappedChunks::count() {
  std::lock_guard lock(mutex_);
  return mapped_.size();
}

uint64_t MappedChunks::bytes() {
  std::lock_guard lock(mutex_);
  return bytes_;
}

void MappedChunks::AfterFork() { new (&mutex_) std::mutex; }

}  // namespace forebay::reader
