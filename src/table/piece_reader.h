// Decodes the rows of one piece (some groups of one object) in the manifest's types.
#pragma once

#include <arrow/record_batch.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "table/hive.h"
#include "table/table_file.h"

namespace forebay::table {

struct PieceOptions {
  ObjectAccess access;
  FooterCache* footers = nullptr;
  model::FileFormat format = model::FileFormat::kParquet;
  model::PieceRecord piece{};
  std::shared_ptr<arrow::Schema> schema;  // ChunkSchema of the projection
  const PartitionKeys* partitions = nullptr;
  int64_t batch_rows = 0;
};

class PieceReader {
 public:
  static Result<std::unique_ptr<PieceReader>> Open(PieceOptions options);

  // nullptr after exactly the piece's rows; fewer or more are kCorrupt. Errors name the
  // file, the group and, where one column is to blame, the column.
  Result<std::shared_ptr<arrow::RecordBatch>> Next();

 private:
  explicit PieceReader(PieceOptions options) : options_(std::move(options)) {}

  Status Init();
  Status OpenStream();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Decode();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ToSchema(
      const std::shared_ptr<arrow::RecordBatch>& batch);
  arrow::Result<std::shared_ptr<arrow::ArrayData>> ColumnOf(
      int column, int64_t rows, const std::shared_ptr<arrow::RecordBatch>& batch);
  Status Blame(const arrow::Status& status);
  bool Reads(uint32_t group, int field);
  uint64_t rows_left() const { return options_.piece.row_count - rows_done_; }

  const PieceOptions options_;
  std::unique_ptr<TableFile> file_;
  std::unique_ptr<BatchStream> stream_;
  std::vector<int> fields_;  // of the file, ascending
  std::vector<int> place_;   // per column: index into fields_, or -1
  std::vector<std::shared_ptr<arrow::Scalar>> constants_;  // per column, or nullptr
  uint64_t rows_done_ = 0;
};

}  // namespace forebay::table
