// The arguments of every verb that opens a table, and the opening itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/iceberg_arguments.h"
#include "reader/remote_table.h"

namespace CLI {
class App;
}

namespace forebay::cli {

struct DatasetArguments {
  std::string uri;
  std::vector<std::string> columns;  // empty: all
  std::vector<std::string> options;  // "s3.endpoint=http://…"
  reader::NodeOptions node;
  std::string timeout;
  IcebergArguments iceberg;
};

struct OpenedDataset {
  std::shared_ptr<reader::RemoteTable> table;
  model::Projection columns;
  uint32_t view = 0;

  const model::Manifest& manifest() const { return *table->manifest(); }
};

// Adds URI, --columns, --option, --store, --node, --timeout (with that default) and those
// of Iceberg.
void AddDatasetArguments(CLI::App& app, const char* default_timeout,
                         DatasetArguments* arguments);
// Finds or starts the node. Waits no longer than the timeout.
Result<OpenedDataset> OpenDataset(const DatasetArguments& arguments);

// "key=value" pairs as a map; a doubled or nameless key is an error.
Result<std::map<std::string, std::string>> ParseOptions(
    const std::vector<std::string>& options);

}  // namespace forebay::cli
