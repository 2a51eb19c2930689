// How large an answer of rows can be, before it comes: of a peer nothing is believed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/schema.h"

namespace forebay::flight {

// At most so many bytes is a chunk of these columns and rows; nullopt where the schema
// does not tell (texts, lists).
std::optional<uint64_t> RowChunkBytesMax(const model::Schema& schema,
                                         std::span<const uint32_t> columns,
                                         uint64_t rows);

}  // namespace forebay::flight
