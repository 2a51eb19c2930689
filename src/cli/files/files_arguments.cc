#include "cli/files/files_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/dataset_arguments.h"
#include "cli/duration.h"

namespace forebay::cli {

void AddFilesArguments(CLI::App& app, const char* default_timeout,
                       FilesArguments* arguments) {
  arguments->timeout = default_timeout;
  app.add_option("SRC", arguments->uri,
                 "a folder or file: /data/images, s3://bucket/images")
      ->required();
  app.add_option("-O,--option", arguments->options,
                 "of the source, for example s3.endpoint=http://host:9000; may be "
                 "repeated")
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
}

Result<std::shared_ptr<reader::RemoteFiles>> OpenFiles(const FilesArguments& arguments) {
  reader::OpenOptions options{.node = arguments.node, .source = {}};
  FB_ASSIGN_OR_RETURN(options.timeout, ParseDuration(arguments.timeout));
  FB_ASSIGN_OR_RETURN(options.source, ParseOptions(arguments.options));
  return reader::RemoteFiles::Open(arguments.uri, std::move(options));
}

}  // namespace forebay::cli
