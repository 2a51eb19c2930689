// The chunks of a fill unit that a projection reads.
#pragma once

#include <vector>

#include "model/chunk.h"

namespace forebay::cache {

inline std::vector<model::ChunkRef> UnitChunks(const model::Manifest& manifest,
                                               uint32_t unit,
                                               const model::Projection& columns) {
  const model::UnitRecord& record = manifest.units()[unit];
  auto groups = model::Groups(manifest, unit, columns);
  std::vector<model::ChunkRef> refs;
  for (uint32_t i = 0; i < record.range_count; ++i) {
    // Nobody reads a range without live rows.
    if (manifest.ranges()[record.first_range + i].row_count == 0) continue;
    for (uint32_t group : groups) refs.push_back({record.first_range + i, group});
  }
  return refs;
}

}  // namespace forebay::cache
