// What `forebay mount` is told, and forebay-mount after it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/open_arguments.h"

namespace CLI {
class App;
}

namespace forebay::cli {

struct MountArguments {
  std::vector<std::string> places;   // SOURCE DIR, or DIR where --source is given
  std::vector<std::string> sources;  // "s3://bucket/a=train"
  OpenArguments open;
  std::string profile;
  std::string memory = "1GiB";
  bool foreground = false;
  bool allow_other = false;
};

struct MountSource {
  std::string uri;   // absolute
  std::string name;  // empty: the whole mount
};

void AddMountArguments(CLI::App& app, MountArguments* arguments);
// The same arguments as words, with places made absolute.
Result<std::vector<std::string>> MountWords(const MountArguments& arguments);
// What is mounted; checked, so that names are file names and each is there once.
Result<std::vector<MountSource>> MountSources(const MountArguments& arguments);
Result<std::string> MountDirectory(const MountArguments& arguments);

}  // namespace forebay::cli
