// Some columns of one data or delete file, group by group, in wanted types.
#pragma once

#include <arrow/record_batch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/manifest.h"
#include "table/by_id/table_columns.h"
#include "table/files/table_file.h"
#include "table/hive.h"
#include "table/iceberg/data_file.h"

namespace forebay::table::live {

// The columns that are wanted of many files.
struct WantedColumns {
  static Result<WantedColumns> Make(model::Schema schema);

  std::shared_ptr<arrow::Schema> chunk_schema;
  std::shared_ptr<const by_id::TableColumns> by_id;  // nullptr: a plain table
  std::shared_ptr<const PartitionKeys> partitions;
};

// kCorrupt for Puffin, which holds no rows.
Result<model::FileFormat> FormatOf(const iceberg::DataFile& file);

struct ScanFile {
  ObjectAccess access;
  FooterCache* footers = nullptr;
  model::FileFormat format = model::FileFormat::kParquet;
  std::string context{};  // encoded by_id::FileContext; of a plain table empty
};

// Gets a batch and the place of its first row in the file.
using BatchVisitor =
    std::function<Status(const arrow::RecordBatch& batch, uint64_t first_row)>;

// What is known of a scan before its file is opened.
struct ScanSize {
  uint64_t stored_bytes = 0;   // that may be read ahead
  uint64_t decoded_bytes = 0;  // of all rows
  uint64_t row_count = 0;
  uint64_t column_count = 1;
};
// What a scan takes at its peak, estimated.
uint64_t ScanMemoryBytes(const ScanSize& size);

// Not for several threads at once.
class FileScan {
 public:
  static Result<FileScan> Open(ScanFile file, const WantedColumns* wanted);

  const std::vector<GroupLayout>& groups() const { return groups_; }
  uint64_t row_count() const { return row_count_; }
  TableFile& file() const { return *opened_; }

  // The rows of consecutive groups in order.
  Status Read(uint32_t first_group, uint32_t group_count,
              const BatchVisitor& visit) const;
  Status ReadAll(const BatchVisitor& visit) const {
    return Read(0, static_cast<uint32_t>(groups_.size()), visit);
  }

 private:
  FileScan(ScanFile file, const WantedColumns* wanted)
      : file_(std::move(file)), wanted_(wanted) {}

  ScanFile file_;
  const WantedColumns* wanted_;
  std::shared_ptr<TableFile> opened_;
  std::vector<GroupLayout> groups_;
  uint64_t row_count_ = 0;
};

}  // namespace forebay::table::live
