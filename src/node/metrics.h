// What a node counts, as Prometheus reads it, and whether it is well.
#pragma once

#include <memory>
#include <string>

#include "http/server.h"
#include "node/cluster.h"
#include "node/node.h"

namespace forebay::node {

// `cluster` is null for a node that is nobody's member.
std::string NodeMetrics(Node& node, Cluster* cluster);

// /healthz and /metrics at `listen` (HOST:PORT). Both must outlive the server.
Result<std::unique_ptr<http::Server>> ServeMetrics(const std::string& listen, Node* node,
                                                   Cluster* cluster);

}  // namespace forebay::node
