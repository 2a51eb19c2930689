// The arguments of every verb that opens a tree of files, and the opening itself.
#pragma once

#include <memory>
#include <string>

#include "cli/open_arguments.h"
#include "reader/files/remote_files.h"

namespace CLI {
class App;
}

namespace forebay::cli {

struct FilesArguments {
  std::string uri;
  OpenArguments open;
};

// Adds SRC and those of OpenArguments.
void AddFilesArguments(CLI::App& app, const char* default_timeout,
                       FilesArguments* arguments);
Result<std::shared_ptr<reader::RemoteFiles>> OpenFiles(const FilesArguments& arguments);
// Whether SRC is a file, not a folder.
bool NamesOneFile(const reader::RemoteFiles& files);

}  // namespace forebay::cli
