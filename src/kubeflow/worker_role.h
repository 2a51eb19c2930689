// A worker of Kubeflow's data cache: a node that holds its part of the table in memory,
// as a process of its own, and a health port beside it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "kubeflow/settings.h"

namespace forebay::kubeflow {

// What is to be started. `own_address` is how others reach this machine, `folder` where
// its socket may be, `memory_limit` that of the container.
struct WorkerPlace {
  std::string binary{};  // forebay-node
  std::string own_address{};
  std::string folder{};
  uint64_t memory_limit = 0;
};
Result<std::vector<std::string>> NodeCommand(const Settings& settings,
                                             const WorkerPlace& place);

// Until a signal ends it, which goes on to the node; a node that ends by itself is an
// error, so that Kubernetes starts the container anew. SIGTERM, SIGINT and SIGCHLD must
// be blocked.
Status RunWorker(const Settings& settings, const std::string& node_binary);

}  // namespace forebay::kubeflow
