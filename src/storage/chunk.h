// An open, verified chunk. A copyable handle: the bytes stay readable through `fd` while
// any copy lives, whether or not the store still holds the chunk.
#pragma once

#include <cstdint>
#include <memory>

#include "base/hash.h"
#include "base/unique_fd.h"
#include "model/chunk.h"
#include "model/store_spec.h"

namespace forebay::storage {

struct Chunk {
  Hash128 key;
  uint64_t size = 0;
  model::ChunkKind kind = model::ChunkKind::kTable;
  model::Medium medium = model::Medium::kMem;
  Hash128 checksum{};                  // of all its bytes, seeded with the key
  std::shared_ptr<const UniqueFd> fd;  // read-only; a memfd is sealed besides
  // No local tier holds these bytes: they are memory of the store's budget, for as long
  // as a handle or a reader has them.
  bool borrowed = false;
  // On another machine's disk, because that budget is used up: fit to be read, but not to
  // be mapped, since a hiccup of its server would be a SIGBUS.
  bool remote = false;
};

}  // namespace forebay::storage
