// The name of a chunk's file. It carries all that is known about the chunk, so that no
// sidecar or trailer exists and a listing is enough to know what a directory holds:
//   <key, 32 hex>-<checksum, 32 hex>-<size, decimal>.<kind>
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "model/chunk.h"

namespace forebay::storage {

struct ChunkName {
  Hash128 key{};
  Hash128 checksum{};  // XXH3-128 of every byte, seeded with ChecksumSeed(key)
  uint64_t size = 0;
  model::ChunkKind kind = model::ChunkKind::kTable;

  friend bool operator==(const ChunkName&, const ChunkName&) = default;

  std::string ToString() const;
  // Only the exact spelling ToString gives: no other case, padding or suffix.
  static std::optional<ChunkName> Parse(std::string_view text);
};

// The checksum depends on the key, so that a chunk under another chunk's name is caught.
inline uint64_t ChecksumSeed(const Hash128& key) { return key.low; }

// The folder of chunks/ that holds the key: its first two hex digits.
std::string BucketName(const Hash128& key);

std::string_view KindName(model::ChunkKind kind);

}  // namespace forebay::storage
