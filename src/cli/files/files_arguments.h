// The arguments of every verb that opens a tree of files, and the opening itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "reader/files/remote_files.h"

namespace CLI {
class App;
}

namespace forebay::cli {

struct FilesArguments {
  std::string uri;
  std::vector<std::string> options;  // "s3.endpoint=http://…"
  reader::NodeOptions node;
  std::string timeout;
};

// Adds SRC, --option, --store, --node and --timeout (with that default).
void AddFilesArguments(CLI::App& app, const char* default_timeout,
                       FilesArguments* arguments);
Result<std::shared_ptr<reader::RemoteFiles>> OpenFiles(const FilesArguments& arguments);

}  // namespace forebay::cli
