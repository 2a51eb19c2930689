// The reader's batches as Arrow's: over the C data interface, no byte copied.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type_fwd.h>

#include <memory>
#include <vector>

#include "base/status.h"
#include "model/manifest.h"
#include "reader/batches/batch_stream.h"

namespace forebay::flight {

Result<std::shared_ptr<arrow::Schema>> ArrowSchemaOf(
    const model::Schema& schema, const std::vector<const model::Field*>& fields);

// Owns what the batch owns.
Result<std::shared_ptr<arrow::RecordBatch>> ToRecordBatch(
    reader::Batch batch, const std::shared_ptr<arrow::Schema>& schema);

}  // namespace forebay::flight
