#include "table/live/file_scan.h"

#include <algorithm>
#include <numeric>

#include "base/size.h"
#include "table/arrow_schema.h"
#include "table/files/decode_error.h"
#include "table/piece_reader.h"

namespace forebay::table::live {
namespace {

constexpr int64_t kBatchRows = 64 * 1024;
// As in files/parquet_file.cc: what is read ahead, and a page with a dictionary.
constexpr uint64_t kReadAheadBytesMax = 64 * kMiB;
constexpr uint64_t kPageBytes = 4 * kMiB;
constexpr uint64_t kFooterBytes = 192 * kKiB;

}  // namespace

uint64_t ScanMemoryBytes(const ScanSize& size) {
  uint64_t pages = std::min(2 * size.decoded_bytes, kPageBytes * size.column_count);
  uint64_t batch = ShareOf(size.decoded_bytes, kBatchRows, size.row_count);
  // Buffers double as they fill; then there is a copy in the wanted types.
  return kFooterBytes + std::min(size.stored_bytes, kReadAheadBytesMax) + pages +
         3 * batch;
}

Result<model::FileFormat> FormatOf(const iceberg::DataFile& file) {
  switch (file.format) {
    case iceberg::ContentFormat::kParquet: return model::FileFormat::kParquet;
    case iceberg::ContentFormat::kOrc: return model::FileFormat::kOrc;
    case iceberg::ContentFormat::kAvro: return model::FileFormat::kAvro;
    case iceberg::ContentFormat::kPuffin: break;
  }
  return Status::Corrupt(file.path + ": a Puffin file holds no rows");
}

Result<WantedColumns> WantedColumns::Make(model::Schema schema) {
  WantedColumns wanted;
  model::Projection all(schema.fields.size());
  std::iota(all.begin(), all.end(), 0);
  FB_ASSIGN_OR_RETURN(wanted.chunk_schema, ChunkSchema(schema, all));
  wanted.by_id = by_id::TableColumns::Make(schema);
  if (wanted.by_id == nullptr) {
    wanted.partitions = std::make_shared<PartitionKeys>(schema);
  }
  return wanted;
}

Result<FileScan> FileScan::Open(ScanFile file, const WantedColumns* wanted) {
  FileScan scan(std::move(file), wanted);
  auto int96 = wanted->by_id ? Int96::kMicroseconds : Int96::kNanoseconds;
  FB_ASSIGN_OR_RETURN(scan.opened_, OpenTableFile(scan.file_.format, scan.file_.access,
                                                  scan.file_.footers, int96));
  auto groups = Decoded(Guard([&] { return scan.opened_->Groups(); }));
  if (!groups.ok()) {
    return groups.status().WithContext(scan.file_.access.object.uri + ", footer");
  }
  scan.groups_ = *std::move(groups);
  for (const GroupLayout& group : scan.groups_) {
    if (__builtin_add_overflow(scan.row_count_, group.row_count, &scan.row_count_)) {
      return Status::Corrupt(scan.file_.access.object.uri +
                             ": the footer claims an impossible number of rows");
    }
  }
  return scan;
}

Status FileScan::Read(uint32_t first_group, uint32_t group_count,
                      const BatchVisitor& visit) const {
  uint64_t first_row = 0, rows = 0;
  for (uint32_t i = 0; i < first_group; ++i) first_row += groups_[i].row_count;
  for (uint32_t i = 0; i < group_count; ++i) rows += groups_[first_group + i].row_count;
  if (rows == 0) return Status::OK();
  FB_ASSIGN_OR_RETURN(auto reader,
                      PieceReader::Open({.access = file_.access,
                                         .footers = file_.footers,
                                         .format = file_.format,
                                         .piece = {.row_count = rows,
                                                   .object = 0,
                                                   .first_group = first_group,
                                                   .group_count = group_count,
                                                   .reserved = 0},
                                         .schema = wanted_->chunk_schema,
                                         .partitions = wanted_->partitions.get(),
                                         .by_id = wanted_->by_id,
                                         .context = file_.context,
                                         .batch_rows = kBatchRows,
                                         .file = opened_}));
  while (true) {
    FB_ASSIGN_OR_RETURN(auto batch, reader->Next());
    if (batch == nullptr) return Status::OK();
    FB_RETURN_NOT_OK(visit(*batch, first_row));
    first_row += static_cast<uint64_t>(batch->num_rows());
  }
}

}  // namespace forebay::table::live
