// Finds the columns of a table chunk without Arrow: a chunk is an Arrow IPC file with one
// uncompressed record batch (docs/formats/chunk.md), whose schema the manifest already
// tells. Nothing is copied; every offset is checked against the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/schema.h"
#include "reader/type_layout.h"

namespace forebay::reader {

// A column where it lies in a mapped chunk. Does not own the bytes. What gathering one
// row reads of it is its first cache line.
struct alignas(64) ChunkColumn {
  TypeLayout type;
  uint64_t length = 0;
  uint64_t null_count = 0;
  const uint8_t* validity = nullptr;  // null when there are no nulls
  const uint8_t* offsets = nullptr;   // length + 1 of them, where the layout has any
  const uint8_t* values = nullptr;    // fixed-width values, bits, or bytes of strings
  uint64_t values_size = 0;           // bytes at `values`
  std::vector<ChunkColumn> children;
};

// The columns of a chunk, in the order of `fields`. kCorrupt when anything is off: magic,
// sizes, a buffer out of bounds, another number of rows. Reads only metadata and the ends
// of offset buffers, so mapping stays lazy; offsets in between are checked when used.
Result<std::vector<ChunkColumn>> ParseChunk(std::string_view bytes,
                                            std::span<const model::Field* const> fields,
                                            uint64_t row_count);

}  // namespace forebay::reader
