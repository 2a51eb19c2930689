// Where a Flight service gets the chunks that peers ask for: a seam, since the engine
// that has them lives above this folder.
#pragma once

#include <functional>
#include <memory>

#include "base/hash.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "flight/peer_request.h"

namespace forebay::flight {

struct ServedChunk {
  Hash128 key{};
  uint64_t size = 0;
  Hash128 checksum{};  // as the store names it; zero where it is not known
  std::shared_ptr<const UniqueFd> fd{};  // keeps the bytes, whatever the store does
};

// The chunks of one request, in the order of its refs. Used by one thread.
class ServedChunks {
 public:
  virtual ~ServedChunks() = default;
  // The i-th; may wait until it is filled. `ended` is to be looked at several times a
  // second: true means that nobody waits any more (kCancelled).
  virtual Result<ServedChunk> At(size_t i, const std::function<bool()>& ended) = 0;
};

// Thread-safe.
class ChunkProvider {
 public:
  virtual ~ChunkProvider() = default;
  // kNotFound for a version nobody here can open, kInvalid for chunks it does not have.
  virtual Result<std::unique_ptr<ServedChunks>> Serve(const ChunkRequest& request) = 0;
};

}  // namespace forebay::flight
