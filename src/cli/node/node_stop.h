// Which nodes `forebay node stop` ends.
#pragma once

#include <string>
#include <vector>

#include "cli/node/running_nodes.h"

namespace forebay::cli {

struct NodeChoice {
  std::string node{};  // a process id or the path of a socket; empty: the only one
  bool all = false;
};
// kNotFound where the named one does not run; kInvalid where several run and none was
// named.
Result<std::vector<RunningNode>> ChooseNodes(const std::vector<RunningNode>& running,
                                             const NodeChoice& choice);

}  // namespace forebay::cli
