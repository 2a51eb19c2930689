// How many bytes rows take in Arrow's layout, validity and padding left out.
#pragma once

#include <cstdint>
#include <optional>

#include "model/schema.h"
#include "reader/ipc_layout.h"

namespace forebay::flight {

// Bits of a row where all rows have as many.
std::optional<uint64_t> FixedRowBits(const model::Field& field);
// At least so many bits, whatever the values: offsets count, what they lead to does not.
uint64_t LeastRowBits(const model::Field& field);
// Bytes of a column of a chunk.
uint64_t ColumnBytes(const reader::ChunkColumn& column);

}  // namespace forebay::flight
