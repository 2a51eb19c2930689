// The pinned objects of a table version, before any file was opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "model/manifest.h"
#include "model/object.h"
#include "source/source.h"

namespace forebay::table {

// A column whose values are in folder names ("year=2024"); one value per object.
struct PartitionColumn {
  std::string name;
  std::string format;  // "i", "l" or "u", as in model/schema.h
  std::vector<std::optional<std::string>> values;
};

struct Listing {
  std::string uri;     // as asked for, canonical
  std::string root;    // the folder below which partition names count
  std::string origin;  // of the source
  model::FileFormat format = model::FileFormat::kParquet;
  std::vector<model::Object> objects;  // sorted by uri
  std::vector<PartitionColumn> partitions;
  Hash128 version;  // of everything above
  uint64_t passed_over_count =
      0;  // files of a folder that hold no rows: _SUCCESS, README
};

// Lists a table: one file, a folder (all files below it), or a glob (*, ?, [a-z], **).
// Of a folder, names that start with '_' or '.' are passed over, and so is what describes
// data and holds none (README.md). Files of several formats, or that are no table, are
// kInvalid; a folder without data files is kNotFound.
Result<Listing> ListTable(source::Source& source, const std::string& uri,
                          Deadline deadline);

}  // namespace forebay::table
