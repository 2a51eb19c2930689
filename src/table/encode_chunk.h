// A record batch as the bytes of a table chunk (docs/formats/chunk.md).
#pragma once

#include <arrow/record_batch.h>

#include <cstddef>
#include <functional>

#include "base/status.h"

namespace forebay::table {

// Takes the next bytes of the chunk; they are gone after the call.
using ByteSink = std::function<Status(const void*, size_t)>;

// Arrow IPC file bytes: one batch, uncompressed, buffers aligned to 64 bytes. Slices give
// only what they show. Column buffers go to the sink as they are, without a copy. The
// schema is written as the batch has it; that of a UnitReader's batches depends on
// nothing but what a chunk's key covers.
Status EncodeChunk(const arrow::RecordBatch& batch, const ByteSink& sink);

}  // namespace forebay::table
