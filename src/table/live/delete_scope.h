// Which data files a delete may touch, by commit and partition.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::live {

// A spec and partition values, as bytes that are equal when they are: floats by their
// bits, NaN equal to NaN.
std::string PartitionKey(const iceberg::DataFile& file);

// True when no field of the spec splits the table.
bool IsUnpartitioned(const iceberg::PartitionSpec& spec);

// The data files of a scan by path and partition. Empty for a scan without deletes.
class DataFiles {
 public:
  // `scan` must outlive it.
  explicit DataFiles(const iceberg::Scan& scan);

  // -1: not in the scan.
  int64_t Find(const std::string& path) const;
  const iceberg::DataFile& at(size_t i) const { return scan_->data[i]; }
  size_t size() const { return scan_->data.size(); }
  const std::string& partition_key(size_t i) const { return *partition_keys_[i]; }
  // Whether a data file of the partition is older than `below` (or any at all is).
  bool AnyOlder(const std::string& partition_key, int64_t below) const;
  bool AnyOlder(int64_t below) const { return oldest_ < below; }
  // Whether the scan has a path in [lower, upper]. For position deletes only.
  bool AnyBetween(const std::string& lower, const std::string& upper) const;

 private:
  const iceberg::Scan* scan_;
  std::unordered_map<std::string, uint32_t> by_path_;
  std::unordered_map<std::string, int64_t> oldest_in_;  // by partition key
  std::vector<const std::string*> partition_keys_;      // keys of oldest_in_
  std::vector<const std::string*> sorted_paths_;
  int64_t oldest_ = INT64_MAX;
};

}  // namespace forebay::table::live
