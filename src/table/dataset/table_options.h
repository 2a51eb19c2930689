// What a caller may say about a table besides where it is, as options by name.
#pragma once

#include <string>

#include "base/status.h"
#include "source/source.h"
#include "table/iceberg/locations.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table {

struct TableOptions {
  iceberg::SnapshotChoice choice;
  std::string filter;
  iceberg::LocationOptions locations;
  // Open a snapshot whose summary counts other files or rows than its manifests list.
  bool ignore_summary = false;
  source::Options rest;  // of the source and the catalog

  // Any of the choice, in the caller's words; empty: none.
  std::string ChoiceText() const;
};

// Takes the "forebay.…" options apart: snapshot, tag, branch, as-of (ms since 1970),
// filter, ignore-summary, remap.<old prefix>, allow.<n>. kInvalid for other ones, and for
// two choices.
Result<TableOptions> ParseTableOptions(const source::Options& options);

}  // namespace forebay::table
