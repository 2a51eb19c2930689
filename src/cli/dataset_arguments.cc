#include "cli/dataset_arguments.h"

#include <fmt/format.h>

#include <CLI/App.hpp>

namespace forebay::cli {

void AddDatasetArguments(CLI::App& app, const char* default_timeout,
                         DatasetArguments* arguments) {
  app.add_option("URI", arguments->uri,
                 "a folder, file or glob of Parquet, Arrow or ORC, or an Iceberg table: "
                 "/data/events, s3://bucket/prefix, iceberg+rest://host:8181/db.events")
      ->required();
  app.add_option("-c,--columns", arguments->columns, "only these: a,b,c")
      ->delimiter(',')
      ->option_text("NAMES");
  AddOpenArguments(app, default_timeout, &arguments->open);
  AddIcebergArguments(app, &arguments->iceberg);
}

Result<OpenedDataset> OpenDataset(const DatasetArguments& arguments) {
  FB_ASSIGN_OR_RETURN(reader::OpenOptions options, OpenOptionsOf(arguments.open));
  FB_ASSIGN_OR_RETURN(auto named, IcebergOptions(arguments.iceberg));
  for (auto& [name, value] : named) {
    if (!options.source.emplace(name, std::move(value)).second) {
      return Status::Invalid(
          fmt::format("--option {} is also given by its own name", name));
    }
  }
  OpenedDataset opened;
  FB_ASSIGN_OR_RETURN(opened.table,
                      reader::RemoteTable::Open(arguments.uri, std::move(options)));
  FB_ASSIGN_OR_RETURN(opened.columns,
                      model::Project(opened.manifest().schema(), arguments.columns));
  opened.view = opened.table->ViewOf(opened.columns);
  return opened;
}

}  // namespace forebay::cli
