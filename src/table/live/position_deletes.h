// Position delete files: rows of (path of a data file, row in it).
#pragma once

#include "base/status.h"
#include "table/iceberg/data_file.h"
#include "table/live/deletes.h"

namespace forebay::table::live {

// Whether the file may name rows of the scan, as far as its manifest entry tells.
bool MayTouch(const iceberg::DataFile& deletes, const DataFiles& files);

// Marks what the file names in data files that it applies to: not newer, without a
// deletion vector, and of the same partition unless the manifest names the data file.
Status ReadPositions(const iceberg::DataFile& deletes, const DeleteAccess& access,
                     const std::vector<bool>& has_vector, const DataFiles& files,
                     DeletedRows* rows);

}  // namespace forebay::table::live
