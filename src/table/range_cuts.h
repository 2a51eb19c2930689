// Where fill units and row ranges begin and end: pure arithmetic over the files' groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/manifest.h"
#include "table/files/table_file.h"

namespace forebay::table {

struct CutOptions {
  uint64_t range_bytes = 0;
  uint64_t wide_bytes = 0;
};

// A file as the cuts see it. Column bytes are by the table's columns.
struct CutFile {
  std::string uri;
  std::vector<GroupLayout> groups;
  // Columns that have chunks of their own whatever their size, ascending: those that the
  // file does not have. So a new column leaves the chunks of older files as they are.
  std::vector<uint32_t> alone{};
  // Small files are joined within a commit and, where commits are tiny, over several; so
  // what is added later leaves the units of earlier commits as they are.
  int64_t commit = 0;
};

// Rows a range never exceeds, however small they are.
constexpr uint64_t kRangeRowsMax = 1 << 24;
constexpr uint64_t kRangesPerUnitMax = 1 << 16;

// Units in file order; a piece's object is the file's index. A large group is a unit of
// several ranges; small groups of a file are joined until they fill a range; files
// smaller than half a range are joined too, and the hash of a name says where such a run
// ends, so that a new file moves the cuts near it and no others. A footer that claims
// more rows than can be is kCorrupt.
Result<std::vector<model::ManifestBuilder::Unit>> CutUnits(
    const std::vector<CutFile>& files, const CutOptions& options);

}  // namespace forebay::table
