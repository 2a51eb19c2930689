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
};

}  // namespace forebay::storage
