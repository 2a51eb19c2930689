// One data file, whatever its format: its schema, its groups, and its rows.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/manifest.h"
#include "table/files/footer_cache.h"
#include "table/files/object_file.h"

namespace parquet {
class ParquetFileReader;
}

namespace forebay::table {

// What stands in for a variable-size value of which the footer says nothing.
constexpr uint64_t kUnknownValueBytes = 16;

// Bits per row, validity included, for types whose rows all have the same size; nothing
// for strings, lists and maps.
std::optional<uint64_t> FixedBits(const arrow::DataType& type);

// A row group, IPC batch or stripe. Sizes are of the decoded rows, estimated from the
// footer alone and the same on every machine.
struct GroupLayout {
  uint64_t row_count = 0;
  std::vector<uint64_t> column_bytes;
  uint64_t other_bytes = 0;  // of columns that the table does not have
};

// Some columns of consecutive groups. Fields are ascending indices into schema().
struct GroupRead {
  uint32_t first_group = 0;
  uint32_t group_count = 0;
  std::vector<int> fields;
  int64_t batch_rows = 0;  // wished for; a format may deliver more or less at a time
  int dictionary = -1;     // a field of strings that may come as a dictionary
};

// What reading takes at its peak, estimated from the footer.
struct ReadMemory {
  uint64_t held_bytes = 0;   // from the first batch to the last: read ahead, pages
  uint64_t batch_bytes = 0;  // the decoded rows of a batch, while it grows
};

// The part of `bytes` that `rows` of `row_count` rows have, rounded up.
uint64_t ShareOf(uint64_t bytes, uint64_t rows, uint64_t row_count);

class BatchStream {
 public:
  virtual ~BatchStream() = default;
  // nullptr after the last. Not validated yet: Arrow has only taken the bytes apart.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

class TableFile {
 public:
  virtual ~TableFile() = default;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  virtual arrow::Result<std::vector<GroupLayout>> Groups() = 0;
  // The stream must not outlive the file. Reads the footer's promises, so a group that
  // is not there is an error.
  virtual arrow::Result<std::unique_ptr<BatchStream>> Read(const GroupRead& read) = 0;
  // Rather too much than too little: memory is reserved by it. A group that is not there
  // is an error.
  virtual arrow::Result<ReadMemory> MemoryOf(const GroupRead& read);
  // The same for groups that are read as a whole.
  static arrow::Result<ReadMemory> MemoryOfGroups(const std::vector<GroupLayout>& groups,
                                                  const GroupRead& read);
  // Of a Parquet file: the way to its statistics and bloom filters. nullptr of others.
  virtual arrow::Result<std::unique_ptr<parquet::ParquetFileReader>> Parquet();
};

// What Parquet's INT96 timestamps are read as. Microseconds hold every year they are
// written for; nanoseconds end in 2262.
enum class Int96 : uint8_t { kNanoseconds, kMicroseconds };

// What a format's groups are called in messages: "row group", "batch", "stripe".
std::string_view GroupName(model::FileFormat format);

// What opening a file takes at its peak, before anything is known of it but its size.
// Footers of many megabytes take more.
uint64_t OpenMemoryBytes(model::FileFormat format, int64_t object_bytes);

// Statuses name the file.
Result<std::unique_ptr<TableFile>> OpenTableFile(model::FileFormat format,
                                                 const ObjectAccess& access,
                                                 FooterCache* footers,
                                                 Int96 int96 = Int96::kNanoseconds);

// One per format; what they throw and return is turned into ours by OpenTableFile.
arrow::Result<std::unique_ptr<TableFile>> OpenParquet(const ObjectAccess& access,
                                                      FooterCache* footers, Int96 int96);
arrow::Result<std::unique_ptr<TableFile>> OpenIpc(const ObjectAccess& access,
                                                  FooterCache* footers);
arrow::Result<std::unique_ptr<TableFile>> OpenOrc(const ObjectAccess& access,
                                                  FooterCache* footers);
arrow::Result<std::unique_ptr<TableFile>> OpenAvro(const ObjectAccess& access,
                                                   FooterCache* footers);

}  // namespace forebay::table
