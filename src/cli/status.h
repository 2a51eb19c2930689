// What the nodes of this host say about themselves.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace forebay::cli {

// A node's answer is JSON of a process that may be of another version: every field may be
// missing or of another type, and is then shown as 0 or "-".
using NodeStatus = nlohmann::ordered_json;

nlohmann::ordered_json StatusJson(const std::vector<NodeStatus>& nodes);
std::string StatusText(const std::vector<NodeStatus>& nodes);

}  // namespace forebay::cli
