// A data or delete file as a manifest lists it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "table/iceberg/value.h"

namespace forebay::table::iceberg {

enum class FileContent : uint8_t {
  kData = 0,
  kPositionDeletes = 1,
  kEqualityDeletes = 2
};
enum class ContentFormat : uint8_t { kParquet, kOrc, kAvro, kPuffin };

// By field id, sorted; empty where the writer gave none.
template <typename T>
using ById = std::vector<std::pair<int32_t, T>>;

struct DataFile {
  FileContent content = FileContent::kData;
  ContentFormat format = ContentFormat::kParquet;
  std::string path{};  // as the manifest has it
  int32_t spec_id = 0;
  std::vector<Value> partition{};  // in the order of the spec's fields
  int64_t record_count = 0;
  int64_t file_size = 0;
  ById<int64_t> value_counts{};
  ById<int64_t> null_counts{};
  ById<int64_t> nan_counts{};
  ById<std::string> lower_bounds{};  // DecodeValue with the column's type
  ById<std::string> upper_bounds{};
  std::vector<int32_t> equality_ids{};
  int64_t sequence_number = 0;  // of its data, inherited where the entry has none
  std::optional<int64_t> first_row_id{};
  std::string referenced_data_file{};  // of a deletion vector, or of position deletes
  int64_t content_offset = 0;          // of a deletion vector in its Puffin file
  int64_t content_size = 0;

  bool is_deletion_vector() const { return format == ContentFormat::kPuffin; }
};

// What a manifest list says of a manifest.
struct PartitionSummary {
  bool contains_null = true;
  std::optional<bool> contains_nan{};
  std::optional<std::string> lower_bound{};  // DecodeValue with the transform's type
  std::optional<std::string> upper_bound{};
};

struct ManifestFile {
  std::string path{};
  int64_t length = 0;
  int32_t spec_id = 0;
  bool holds_deletes = false;
  int64_t sequence_number = 0;
  int64_t added_snapshot_id = 0;
  std::optional<int64_t> first_row_id{};
  std::vector<PartitionSummary> partitions{};  // empty: unknown
  std::optional<int64_t> added_files{};
  std::optional<int64_t> existing_files{};
  bool encrypted = false;  // it has key metadata
};

}  // namespace forebay::table::iceberg
