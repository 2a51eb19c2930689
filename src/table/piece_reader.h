// Decodes the rows of one piece (some groups of one object) in the manifest's types.
#pragma once

#include <arrow/record_batch.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table/by_id/column_fill.h"
#include "table/by_id/metadata_columns.h"
#include "table/by_id/table_columns.h"
#include "table/files/table_file.h"
#include "table/hive.h"

namespace forebay::table {

struct PieceOptions {
  ObjectAccess access;
  FooterCache* footers = nullptr;
  model::FileFormat format = model::FileFormat::kParquet;
  model::PieceRecord piece{};
  std::shared_ptr<arrow::Schema> schema;             // ChunkSchema of the projection
  const PartitionKeys* partitions = nullptr;         // nullptr: none
  std::shared_ptr<const by_id::TableColumns> by_id;  // nullptr: columns by name
  std::string_view context;                          // of the object; gone after Open
  int64_t batch_rows = 0;
  std::shared_ptr<TableFile> file;  // when it is open already
};

class PieceReader {
 public:
  // Reads the footer, and nothing else yet.
  static Result<std::unique_ptr<PieceReader>> Open(PieceOptions options);

  // What Next takes at its peak, batches that were handed out not counted.
  Result<ReadMemory> Memory() const;

  // nullptr after exactly the piece's rows; fewer or more are kCorrupt. Errors name the
  // file, the group and, where one column is to blame, the column.
  Result<std::shared_ptr<arrow::RecordBatch>> Next();

 private:
  explicit PieceReader(PieceOptions options) : options_(std::move(options)) {}

  // Where a column's values come from.
  struct Column {
    int place = -1;                           // among the fields that are read, or
    std::shared_ptr<arrow::Scalar> constant;  // one value for all rows, or null
    std::optional<by_id::MetadataColumn> metadata;
  };

  Status Init();
  Status InitById();
  Result<Column> FindColumn(const arrow::Field& field, int* file_field) const;
  Result<std::shared_ptr<arrow::Scalar>> FolderValue(const arrow::Field& field) const;
  Status FindFirstRow();
  GroupRead Read() const;
  Status OpenStream();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Decode();
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ToSchema(
      const std::shared_ptr<arrow::RecordBatch>& batch);
  arrow::Result<std::shared_ptr<arrow::ArrayData>> ColumnOf(
      int index, int64_t rows, const std::shared_ptr<arrow::RecordBatch>& batch);
  Status Blame(const arrow::Status& status);
  bool Reads(uint32_t group, int field);
  uint64_t rows_left() const { return options_.piece.row_count - rows_done_; }

  PieceOptions options_;
  std::shared_ptr<TableFile> file_;
  std::unique_ptr<BatchStream> stream_;
  std::shared_ptr<arrow::Schema> labels_;  // of the file, named as the chunk's columns
  by_id::FileContext context_;
  by_id::ColumnFill fill_;
  std::vector<int> fields_;      // of the file, ascending
  std::vector<Column> columns_;  // as in the schema
  uint64_t first_row_ = 0;       // in the file, where a column needs it
  uint64_t rows_done_ = 0;
};

}  // namespace forebay::table
