// A chunk as a reader holds it: mapped, its columns found.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
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

// Columns point into the mapping. Shared by all streams of a dataset.
struct MappedChunk {
  MappedChunk() = default;
  MappedChunk(const MappedChunk&) = delete;
  MappedChunk& operator=(const MappedChunk&) = delete;
  ~MappedChunk() {
    if (unmapped == nullptr) return;
    std::lock_guard lock(unmapped->mutex);
    unmapped->entries.push_back(handed);
  }

  std::shared_ptr<const Mapping> mapping;
  std::vector<ChunkColumn> columns;  // those of the group, ascending
  std::atomic<bool> evicted{false};
  bool borrowed = false;  // memory that no tier of the node holds
  Unmapped::Entry handed{};
  std::shared_ptr<Unmapped> unmapped;
};

}  // namespace forebay::reader
