// Gather of runs of consecutive rows: what lists turn their children into, and what
// nearly sequential batches are made of. Handles every type, any depth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "reader/gather_output.h"
#include "reader/row_address.h"

namespace forebay::reader {

using Sources = std::span<const ChunkColumn* const>;

// Every run must lie inside its source.
Result<Column> GatherRuns(const model::Field& field, Sources sources,
                          std::span<const Run> runs, BufferPool* pool);

// Child `index` of every source; null where the source is.
std::vector<const ChunkColumn*> ChildSources(Sources sources, size_t index);

}  // namespace forebay::reader
