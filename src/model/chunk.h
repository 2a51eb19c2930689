// Which chunks a projection needs, and their keys. A chunk is one column group of one row
// range: a wide column alone, or all projected narrow columns together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "model/manifest.h"

namespace forebay::model {

// What a file in the store holds.
enum class ChunkKind : uint8_t { kTable = 0, kManifest = 1, kFile = 2 };

constexpr uint32_t kChunkFormatVersion = 1;
constexpr uint32_t kNarrowGroup = 0xFFFFFFFF;

struct ChunkRef {
  uint32_t range = 0;
  uint32_t group = kNarrowGroup;  // a column's index when that column is wide

  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
  friend auto operator<=>(const ChunkRef&, const ChunkRef&) = default;
};

// Ascending column indices.
using Projection = std::vector<uint32_t>;

inline uint32_t GroupOf(const Manifest& manifest, uint32_t unit, uint32_t column) {
  return manifest.IsWide(unit, column) ? column : kNarrowGroup;
}
// The columns of a group in the order they have in the chunk.
Projection GroupColumns(const Manifest& manifest, uint32_t unit, uint32_t group,
                        const Projection& projection);
// The groups of a unit that hold projected columns; narrow last.
std::vector<uint32_t> Groups(const Manifest& manifest, uint32_t unit,
                             const Projection& projection);
Hash128 ChunkKey(const Manifest& manifest, ChunkRef ref, const Projection& projection);
Hash128 ManifestKey(const Hash128& version);

}  // namespace forebay::model

template <>
struct std::hash<forebay::model::ChunkRef> {
  size_t operator()(const forebay::model::ChunkRef& r) const noexcept {
    return (static_cast<size_t>(r.range) << 32) ^ (r.group * 0x9E3779B1U);
  }
};
