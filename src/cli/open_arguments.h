// The arguments that every verb has which opens a source through a node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reader/remote_table.h"

namespace CLI {
class App;
}

namespace forebay::cli {

struct OpenArguments {
  std::vector<std::string> options;  // "s3.endpoint=http://…"
  reader::NodeOptions node;
  std::string timeout;
};

// Adds --option.
void AddSourceOptions(CLI::App& app, std::vector<std::string>* options);
// Adds --option, --store, --node, and --timeout with that default.
void AddOpenArguments(CLI::App& app, const char* default_timeout,
                      OpenArguments* arguments);
Result<reader::OpenOptions> OpenOptionsOf(const OpenArguments& arguments);

// "key=value" pairs as a map; a doubled or nameless key is an error.
Result<std::map<std::string, std::string>> ParseOptions(
    const std::vector<std::string>& options);

}  // namespace forebay::cli
