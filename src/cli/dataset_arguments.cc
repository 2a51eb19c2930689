#include "cli/dataset_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/duration.h"

namespace forebay::cli {

void AddDatasetArguments(CLI::App& app, const char* default_timeout,
                         DatasetArguments* arguments) {
  arguments->timeout = default_timeout;
  app.add_option("URI", arguments->uri,
                 "a folder, file or glob of Parquet, Arrow or ORC, or an Iceberg table: "
                 "/data/events, s3://bucket/prefix, iceberg+rest://host:8181/db.events")
      ->required();
  app.add_option("-c,--columns", arguments->columns, "only these: a,b,c")
      ->delimiter(',')
      ->option_text("NAMES");
  app.add_option(
         "-O,--option", arguments->options,
         "of the source or catalog, for example s3.endpoint=http://host:9000; may "
         "be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->option_text("KEY=VALUE");
  app.add_option("--store", arguments->node.store,
                 "where chunks are kept (default: FOREBAY_STORE, else the default store)")
      ->option_text("SPEC");
  app.add_option("--node", arguments->node.socket,
                 "the socket of the node to use (default: FOREBAY_NODE, else found or "
                 "started)")
      ->option_text("PATH");
  app.add_option("--timeout", arguments->timeout, "give up after so long")
      ->option_text(fmt::format("TIME [{}]", default_timeout));
  AddIcebergArguments(app, &arguments->iceberg);
}

Result<std::map<std::string, std::string>> ParseOptions(
    const std::vector<std::string>& options) {
  std::map<std::string, std::string> out;
  for (const std::string& text : options) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      // The text may be a secret that lost its name: it is not repeated.
      return Status::Invalid("--option wants KEY=VALUE");
    }
    std::string key = text.substr(0, equals);
    if (!out.emplace(key, text.substr(equals + 1)).second) {
      return Status::Invalid(fmt::format("--option {} is given twice", key));
    }
  }
  return out;
}

Result<OpenedDataset> OpenDataset(const DatasetArguments& arguments) {
  reader::OpenOptions options{.node = arguments.node, .source = {}};
  FB_ASSIGN_OR_RETURN(options.timeout, ParseDuration(arguments.timeout));
  FB_ASSIGN_OR_RETURN(options.source, IcebergOptions(arguments.iceberg));
  FB_ASSIGN_OR_RETURN(auto given, ParseOptions(arguments.options));
  for (auto& [name, value] : given) {
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
