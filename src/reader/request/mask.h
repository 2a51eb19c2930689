// The column that batches of remainder "pad" carry: true for rows, false for filler.
#pragma once

#include "base/status.h"
#include "model/schema.h"
#include "reader/batches/batch_stream.h"
#include "reader/buffer_pool.h"

namespace forebay::reader {

const model::Field& MaskField();
// kInvalid where the table needs the name for itself.
Status CheckMaskName(const model::Schema& schema);
Status AddMask(BufferPool& pool, Batch* batch);

}  // namespace forebay::reader
