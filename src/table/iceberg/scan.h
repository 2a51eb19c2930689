// From a snapshot to its live files: manifest list → manifests → data and delete files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "table/iceberg/data_file.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::iceberg {

// What a filter can tell from metadata. Thread-safe.
class FileFilter {
 public:
  virtual ~FileFilter() = default;
  // False: no row of the manifest's files can match.
  virtual bool MayMatch(const ManifestFile& manifest) const = 0;
  // By partition values only: also right for delete files.
  virtual bool PartitionMayMatch(const DataFile& file) const = 0;
  // By partition and column metrics, for data files.
  virtual bool MayMatch(const DataFile& file) const = 0;
  // True: every row matches, none needs to be looked at.
  virtual bool MustMatch(const DataFile& file) const = 0;
};

struct ScanOptions {
  const FileFilter* filter = nullptr;
  // Data files' column metrics take time and memory: kept only for a filter, or when
  // asked for. Delete files always have theirs.
  bool keep_metrics = false;
  ThreadPool* pool = nullptr;  // nullptr: the calling thread alone
  // The whole contents of a file that metadata names. Safety rules are the reader's.
  std::function<Result<std::string>(const std::string& path)> read;
};

// Files in the order of their manifests; deleted entries are left out.
struct Scan {
  std::vector<DataFile> data;
  std::vector<uint32_t> manifest_of;    // per data file: index into manifests
  std::vector<ManifestFile> manifests;  // of data, that were read
  std::vector<DataFile> position_deletes;
  std::vector<DataFile> deletion_vectors;
  std::vector<DataFile> equality_deletes;
  uint64_t manifests_skipped = 0;
  uint64_t files_skipped = 0;  // data files that the filter ruled out
};

// kCorrupt names the file that makes no sense; two data entries of the same path are
// kCorrupt too.
Result<Scan> PlanScan(const TableMetadata& metadata, const Snapshot& snapshot,
                      const ScanOptions& options);

}  // namespace forebay::table::iceberg
