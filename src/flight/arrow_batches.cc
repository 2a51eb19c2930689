#include "flight/arrow_batches.h"

#include <arrow/c/bridge.h>

#include "base/arrow_status.h"
#include "reader/export.h"

namespace forebay::flight {

Result<std::shared_ptr<arrow::Schema>> ArrowSchemaOf(
    const model::Schema& schema, const std::vector<const model::Field*>& fields) {
  ArrowSchema exported;
  reader::ExportSchema(fields, schema.metadata, &exported);
  return FromArrow(arrow::ImportSchema(&exported));
}

Result<std::shared_ptr<arrow::RecordBatch>> ToRecordBatch(
    reader::Batch batch, const std::shared_ptr<arrow::Schema>& schema) {
  ArrowArray exported;
  reader::ExportBatch(std::move(batch.columns), batch.row_count, &exported);
  return FromArrow(arrow::ImportRecordBatch(&exported, schema));
}

}  // namespace forebay::flight
