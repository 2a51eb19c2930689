// A manifest: an Avro file that lists data files or delete files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table/iceberg/data_file.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::iceberg {

struct ManifestRequest {
  const TableMetadata* metadata = nullptr;
  const ManifestFile* manifest = nullptr;  // as the manifest list has it
  const FileFilter* filter = nullptr;
  bool keep_metrics = false;  // of data files; delete files keep theirs
};

// The live files, in the manifest's order, with what they inherit.
struct ManifestContents {
  std::vector<DataFile> data;
  std::vector<DataFile> deletes;
  uint64_t files_skipped = 0;  // data files that the filter ruled out
};

// kCorrupt: damaged, or other files in it than the manifest list counts.
Result<ManifestContents> ParseManifest(std::string_view bytes,
                                       const ManifestRequest& request);

// What only the manifest itself knows when a version 1 snapshot lists it by path alone.
Result<ManifestFile> DescribeManifest(std::string_view bytes);

}  // namespace forebay::table::iceberg
