// The column that batches of remainder "pad" carry: true for rows, false for filler.
#pragma once

#include "base/status.h"
#include "model/schema.h"
#include "reader/batch_stream.h"
#include "reader/buffer_pool.h"

namespace forebay::python {

const model::Field& MaskField();
// kInvalid where the table needs the name for itself.
Status CheckMaskName(const model::Schema& schema);
Status AddMask(reader::BufferPool& pool, reader::Batch* batch);

}  // namespace forebay::python
