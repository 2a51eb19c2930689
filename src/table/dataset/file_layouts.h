// Columns and row groups of an Iceberg table's data files. Footers are read once per file
// and their layouts kept with the Iceberg manifest that lists the files: a new snapshot
// reads the footers of new files only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "table/by_id/table_columns.h"
#include "table/dataset/dataset.h"
#include "table/files/table_file.h"
#include "table/iceberg/scan.h"
#include "table/live/live_rows_of.h"
#include "table/plan_table.h"

namespace forebay::table {

// A data file's columns as chunks name them ("id7"), and its groups with their bytes.
struct IdLayout {
  std::vector<std::string> columns{};
  std::vector<GroupLayout> groups{};
  bool reusable = true;  // it depends on the file and the name mapping alone
};

struct LayoutRequest {
  std::shared_ptr<source::Source> source{};
  const iceberg::Scan* scan = nullptr;
  const std::vector<live::FileRef>* files = nullptr;  // of scan->data
  std::shared_ptr<const by_id::TableColumns> columns{};
  std::string name_mapping{};
};

// In the order of scan->data.
Result<std::vector<IdLayout>> LayoutsOf(const LayoutRequest& request,
                                        const PlanOptions& options,
                                        const LayoutShelf& shelf);

}  // namespace forebay::table
