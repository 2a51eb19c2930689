// What the head knows, as JSON for people and tools.
#pragma once

#include <nlohmann/json.hpp>

#include "cluster/membership.h"
#include "head/head.h"
#include "head/warmups.h"
#include "model/any_manifest.h"

namespace forebay::head {

nlohmann::json NodeView(const cluster::Membership::Node& node);
nlohmann::json OperationView(const Operation& operation);
nlohmann::json VersionView(const model::AnyManifest& manifest);
nlohmann::json JobsView(const std::vector<cluster::Membership::Node>& nodes);

// Datasets with how much of them the nodes hold, and everything else at a glance.
Result<nlohmann::json> StatusView(Reign& reign, Versions& versions);

}  // namespace forebay::head
