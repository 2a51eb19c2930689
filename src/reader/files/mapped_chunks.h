// Chunks of files that a process keeps mapped, of one version or of all versions of a
// mount: beyond the limits those go that were used longest ago. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reader/mapped_chunk.h"

namespace forebay::reader {

using ChunkPtr = std::shared_ptr<MappedChunk>;

class MappedChunks {
 public:
  struct Limits {
    uint64_t bytes = 0;  // 0: none
    // Below the usual limit of 65530 for all that a process maps.
    size_t count = 20'000;
  };
  explicit MappedChunks(Limits limits) : limits_(limits) {}

  // Whose chunk it is: a version.
  using Owner = const void*;
  // The first of these that is mapped, or null.
  ChunkPtr Find(Owner owner, std::span<const model::ChunkRef> refs);
  // Threads that asked for the same chunk at once keep one mapping of it: the one that is
  // returned. `tight`: the store is nearly full, and what nobody uses shall go.
  ChunkPtr Keep(Owner owner, ChunkPtr chunk, bool tight);
  // Lets go of all that nobody uses now.
  void DropIdle();
  void Forget(Owner owner, std::span<const model::ChunkRef> refs);
  void ForgetAll(Owner owner);
  // What was handed over by the link that `by` belongs to.
  std::vector<ChunkPtr> HandedBy(Owner owner, const Unmapped* by);
  // Lets go of the pages of all that nobody uses now; they come again when they are
  // touched. Never of pages that somebody has just brought in for a reply.
  void LetGoOfPages();
  size_t count();
  uint64_t bytes();
  // In a forked child, where a lock may be held for ever.
  void AfterFork();

 private:
  struct Key {
    Owner owner;
    model::ChunkRef ref;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<model::ChunkRef>()(key.ref) ^
             std::hash<Owner>()(key.owner) * 0x9E3779B97F4A7C15;
    }
  };
  struct Kept {
    ChunkPtr chunk;
    uint64_t used = 0;  // when last, by uses_
  };
  using Dropped = std::vector<ChunkPtr>;  // unmapped by the caller, without the lock
  using Map = std::unordered_map<Key, Kept, KeyHash>;
  Map::iterator Drop(Map::iterator at, Dropped* dropped);
  void DropUnused(Dropped* dropped);
  void DropOldest(Dropped* dropped);
  bool IsOver() const;

  const Limits limits_;
  std::mutex mutex_;
  Map mapped_;
  uint64_t uses_ = 0;
  uint64_t bytes_ = 0;
};

// Of any mapping: its pages come again when they are touched.
void LetGoOfPages(std::string_view mapped);

}  // namespace forebay::reader
