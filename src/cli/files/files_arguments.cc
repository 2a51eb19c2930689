#include "cli/files/files_arguments.h"

#include <CLI/CLI.hpp>

namespace forebay::cli {

void AddFilesArguments(CLI::App& app, const char* default_timeout,
                       FilesArguments* arguments) {
  app.add_option("SRC", arguments->uri,
                 "a folder or file: /data/images, s3://bucket/images")
      ->required();
  AddOpenArguments(app, default_timeout, &arguments->open);
}

Result<std::shared_ptr<reader::RemoteFiles>> OpenFiles(const FilesArguments& arguments) {
  FB_ASSIGN_OR_RETURN(reader::OpenOptions options, OpenOptionsOf(arguments.open));
  return reader::RemoteFiles::Open(arguments.uri, std::move(options));
}

}  // namespace forebay::cli
