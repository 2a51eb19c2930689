// Files of a folder, a glob or a single one, as a dataset.
#pragma once

#include <memory>

#include "table/dataset/dataset.h"
#include "table/dataset/table_options.h"

namespace forebay::table {

Result<std::unique_ptr<Dataset>> PinFolder(const DatasetRequest& request,
                                           const TableOptions& options,
                                           std::shared_ptr<source::Source> source);

}  // namespace forebay::table
