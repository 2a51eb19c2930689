#include "cli/files/files_arguments.h"

#include <CLI/App.hpp>

#include "base/uri.h"

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

bool NamesOneFile(const reader::RemoteFiles& files) {
  const model::FilesManifest& manifest = *files.manifest();
  if (manifest.files().size() != 1 || manifest.files()[0].is_link()) return false;
  std::string path = "/" + manifest.FilePath(0);
  auto uri = Uri::Parse(files.uri());
  // The root of a tree that is one file is the folder of the file.
  bool is_name = uri.ok() && uri->scheme == "forebay";
  if (!uri.ok() || is_name) return files.uri().ends_with(path);
  return uri->ToString() == std::string(manifest.root()) + path;
}

}  // namespace forebay::cli
