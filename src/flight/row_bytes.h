// How many bytes rows take in Arrow's layout; but for the last, validity and padding are
// left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/schema.h"
#include "reader/ipc_layout.h"

namespace forebay::flight {

// Bits of a row where all rows have as many.
std::optional<uint64_t> FixedRowBits(const model::Field& field);
// At least so many bits, whatever the values: offsets count, what they lead to does not.
uint64_t LeastRowBits(const model::Field& field);
// Bytes of a column of a chunk.
uint64_t ColumnBytes(const reader::ChunkColumn& column);
// At most so many bytes is a chunk of these columns and rows, before it comes: of a peer
// nothing is believed. nullopt where the schema does not tell (texts, lists).
std::optional<uint64_t> RowChunkBytesMax(const model::Schema& schema,
                                         std::span<const uint32_t> columns,
                                         uint64_t rows);

}  // namespace forebay::flight
