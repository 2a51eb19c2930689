// The arguments of every verb that opens a table, and the opening itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/iceberg_arguments.h"
#include "cli/open_arguments.h"
#include "reader/remote_table.h"

namespace CLI {
class App;
}

namespace forebay::cli {

struct DatasetArguments {
  std::string uri;
  std::vector<std::string> columns;  // empty: all
  OpenArguments open;
  IcebergArguments iceberg;
};

struct OpenedDataset {
  std::shared_ptr<reader::RemoteTable> table;
  model::Projection columns;
  uint32_t view = 0;

  const model::Manifest& manifest() const { return *table->manifest(); }
};

// Adds URI, --columns, those of OpenArguments and those of Iceberg.
void AddDatasetArguments(CLI::App& app, const char* default_timeout,
                         DatasetArguments* arguments);
// Finds or starts the node. Waits no longer than the timeout.
Result<OpenedDataset> OpenDataset(const DatasetArguments& arguments);

}  // namespace forebay::cli
