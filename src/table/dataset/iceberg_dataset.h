// A state of an Iceberg table as a dataset.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "table/dataset/dataset.h"
#include "table/dataset/table_options.h"

namespace forebay::table {

// Where the metadata of a table is.
struct IcebergPlace {
  std::string metadata_uri;
  std::optional<std::string> metadata_json{};  // where a catalog sent it along
};

// `source` reads every file that the table may name.
Result<std::unique_ptr<Dataset>> PinIceberg(const IcebergPlace& place,
                                            const TableOptions& options,
                                            std::shared_ptr<source::Source> source,
                                            Deadline deadline);

// True for manifests of Iceberg tables.
bool IsIceberg(const model::Manifest& manifest);

}  // namespace forebay::table
