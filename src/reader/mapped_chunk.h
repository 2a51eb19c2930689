// A chunk as a reader holds it: mapped or copied, its columns found.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/mapping.h"
#include "model/chunk.h"
#include "reader/ipc_layout.h"

namespace forebay::reader {

// Chunks that were unmapped and of which the node was not told yet.
struct Unmapped {
  struct Entry {
    uint64_t generation;  // of the connection that handed it over
    uint32_t view;
    model::ChunkRef ref;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};

// What a reader does with a chunk that no tier of its node holds (docs/adr/0021).
enum class Borrowed {
  // Both hold memory of the node's budget until the mapping ends. To keep a chunk while a
  // consumer has its batches takes more: the node must be able to lend one more besides.
  kMap,
  kMapBriefly,
  kCopy,  // copies it to memory of this process and gives it back at once
};

// Columns point into the mapping. Shared by all streams of a dataset.
struct MappedChunk {
  MappedChunk() = default;
  MappedChunk(const MappedChunk&) = delete;
  MappedChunk& operator=(const MappedChunk&) = delete;
  ~MappedChunk() { GiveBack(); }

  // The node's memory is no longer used here.
  void GiveBack() {
    auto told = std::exchange(unmapped, nullptr);
    if (told == nullptr) return;
    std::lock_guard lock(told->mutex);
    told->entries.push_back(handed);
  }

  std::shared_ptr<const Mapping> mapping;
  std::vector<ChunkColumn> columns;  // those of the group, ascending
  std::atomic<bool> evicted{false};
  bool borrowed = false;  // no tier of the node holds it, so it is not kept after use
  Unmapped::Entry handed{};
  std::shared_ptr<Unmapped> unmapped;
};

}  // namespace forebay::reader
