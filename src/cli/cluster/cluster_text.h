// What a head answers, as text for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace forebay::cli {

std::string DatasetText(const nlohmann::json& dataset);
std::string DatasetsText(const nlohmann::json& answer);  // {"datasets": […]}
std::string NodesText(const nlohmann::json& answer);     // {"nodes": […]}
std::string ClusterText(const nlohmann::json& status);   // of /v1/status
std::string OperationText(const nlohmann::json& operation);

}  // namespace forebay::cli
