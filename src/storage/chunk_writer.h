// Writes one chunk. Bytes go to the fastest tier that has room; when that one fails on
// the way (full, read-only, broken), what was written moves to the next tier and at last
// to borrowed memory, so that a chunk that can be decoded can be served while the budget
// of that memory lasts. Used by one thread; must not outlive its store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "model/chunk.h"
#include "storage/borrowed_memory.h"
#include "storage/chunk.h"
#include "storage/eviction_policy.h"
#include "storage/tier.h"

namespace forebay::storage {

class Store;

class ChunkWriter {
 public:
  ~ChunkWriter();  // discards what was not committed
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

  Status Append(const void* data, size_t size);
  // Of what was appended so far: for bytes that come with a checksum.
  Hash128 checksum() const { return hasher_.Digest(); }
  // Gives the chunk its name and hands it out. At most once, and nothing after it.
  Result<Chunk> Commit();

 private:
  friend class Store;
  struct Options {
    Store* store;
    Hash128 key;
    model::ChunkKind kind;
    uint64_t size_estimate;
    size_t first_tier = 0;
    size_t tier_end;           // tiers [first_tier, tier_end) are tried
    bool memory_last = true;   // then memory outside of every tier
    bool hand_out = true;      // Commit's chunk goes to readers
    bool second_copy = false;  // memory before room that other chunks would go for
  };
  explicit ChunkWriter(const Options& options);

  Status Start(uint64_t reserve_bytes);
  Status StartInTier(uint64_t reserve_bytes);
  Status StartInMemory(uint64_t reserve_bytes);
  Status GrowLoan(uint64_t bytes);
  Status Write(const void* data, size_t size);
  Status WriteHere(const void* data, size_t size);
  Status FlushBuffer();
  Status MoveOn(const Status& cause, uint64_t size);
  Status CopyFrom(const Draft& old, uint64_t size);
  Result<Chunk> Publish();
  void LetGo();
  bool kept() const { return tier_ < options_.tier_end; }
  const SecondCopy* copy() const { return copy_ ? &*copy_ : nullptr; }

  const Options options_;
  Hasher hasher_;
  std::optional<SecondCopy> copy_;  // where it is one
  size_t tier_;
  std::optional<Draft> draft_;
  uint64_t reserved_bytes_ = 0;  // in a tier
  BorrowedMemory::Loan loan_;    // outside of every tier
  // Small appends (an IPC writer's paddings) are gathered into one write.
  std::vector<char> buffer_;
};

}  // namespace forebay::storage
