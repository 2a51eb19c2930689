// Avro rows as Arrow arrays.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <vector>

#include "base/status.h"
#include "table/avro/decoder.h"
#include "table/avro/schema.h"

namespace forebay::table::avro {

// A record's fields as columns. Field ids are in the metadata under "PARQUET:field_id",
// at every depth. kUnsupported for a schema that is no record, for unions other than with
// null, and for decimals of more than 38 digits.
Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const Schema& schema);

class ValueReader;

// Decodes rows into the chosen columns. Not thread-safe. Unusable after a failure.
class RowReader {
 public:
  // `schema` must outlive the reader; `fields` are ascending indices of its fields.
  static Result<std::unique_ptr<RowReader>> Make(const Schema& schema,
                                                 const std::vector<int>& fields,
                                                 arrow::MemoryPool* pool);
  ~RowReader();

  // Reads one row; after it the decoder tells whether the bytes made sense.
  arrow::Status Append(Decoder& decoder);
  int64_t row_count() const { return row_count_; }
  // The rows since the last call. Strings are not validated yet.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Finish();

 private:
  RowReader() = default;

  const Schema* schema_ = nullptr;
  std::shared_ptr<arrow::Schema> columns_;
  std::vector<std::unique_ptr<ValueReader>> readers_;  // per field; nullptr: skipped
  int64_t row_count_ = 0;
};

}  // namespace forebay::table::avro
