// All deletes of a scan, every delete file read once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/memory_budget.h"
#include "base/status.h"
#include "model/live_rows.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"
#include "table/live/delete_scope.h"
#include "table/live/equality_index.h"
#include "table/live/file_scan.h"
#include "table/live/live_marks.h"
#include "table/live/wanted_columns.h"

namespace forebay::table::live {

// How delete files are reached.
struct DeleteAccess {
  std::shared_ptr<source::Source> source;
  ThreadPool* pool = nullptr;
  arrow::MemoryPool* memory_pool = nullptr;
  MemoryBudget* budget = nullptr;  // of memory_pool; nullptr: nobody counts
  LiveMarks* marks = nullptr;      // must outlive the deletes
  FooterCache* footers = nullptr;
  Deadline deadline = Deadline::Never();
  std::function<Result<std::string>(std::string_view path)> resolve{};

  Result<ObjectAccess> Open(const std::string& path) const;
  // Calls read(i) for each file, in parallel as far as there is memory: bytes(i).
  Status ReadAll(size_t count, const std::function<uint64_t(size_t)>& bytes,
                 const std::function<Status(size_t)>& read) const;
};

// Marks rows as deleted, from several threads.
class DeletedRows {
 public:
  DeletedRows(const DataFiles& files, LiveMarks* marks)
      : files_(&files), marks_(marks), live_(files.size()), locks_(kLocks) {}

  // `positions` in the file `data_file`. One that the file does not have is kCorrupt.
  Status Mark(size_t data_file, const std::vector<uint64_t>& positions);
  bool Any(size_t data_file) const { return !live_[data_file].words.empty(); }
  const model::LiveRows& At(size_t data_file) const { return live_[data_file]; }

 private:
  static constexpr size_t kLocks = 64;
  const DataFiles* files_;
  LiveMarks* marks_;
  std::vector<model::LiveRows> live_;  // no words: untouched
  std::vector<std::mutex> locks_;
};

// Keys that are deleted in a part of the table, by the same columns.
struct EqualityDeletes {
  std::vector<ChunkPath> key_paths;
  std::vector<model::Field> columns;  // that hold the keys
  EqualityIndex index;
  std::mutex mutex;  // while the index is built
};

class Deletes {
 public:
  static Result<std::unique_ptr<Deletes>> Make(DeleteAccess access,
                                               const KnownFields& fields,
                                               const iceberg::TableMetadata& metadata,
                                               const iceberg::Scan& scan);

  bool Touches(size_t data_file) const {
    return rows_.Any(data_file) || !EqualityFor(data_file).empty();
  }
  // Of its position deletes or its deletion vector; row_count is the manifest's.
  model::LiveRows LiveByPosition(size_t data_file) const;
  // Those that apply to the file.
  std::vector<const EqualityDeletes*> EqualityFor(size_t data_file) const;

 private:
  Deletes(DeleteAccess access, const iceberg::Scan& scan)
      : access_(std::move(access)), files_(scan), rows_(files_, access_.marks) {}

  Status ReadDeletionVectors(const std::vector<iceberg::DataFile>& vectors);
  Status ReadPositionDeletes(const std::vector<iceberg::DataFile>& files);
  Status ReadEqualityDeletes(const std::vector<iceberg::DataFile>& files,
                             const KnownFields& fields,
                             const iceberg::TableMetadata& metadata);

  DeleteAccess access_;
  DataFiles files_;
  DeletedRows rows_;
  std::vector<bool> has_vector_;  // per data file
  // By partition key; empty: the whole table.
  std::unordered_map<std::string, std::vector<std::unique_ptr<EqualityDeletes>>> keys_;
};

}  // namespace forebay::table::live
