// forebay warmup of a dataset of a cluster: the nodes load, the head adds up.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/verb.h"

namespace forebay::cli {

struct ClusterDataset {
  std::string head;  // empty: the default
  std::string name;
};

struct ClusterWarmup {
  ClusterDataset dataset;
  bool wait = false;
  OutputFormat format = OutputFormat::kTable;
};

// The dataset that `uri` means: forebay://head:7070/name, with `head` any text, with
// FOREBAY_HEAD a plain name, with neither a plain name that is no file here. nullopt: it
// is a table of its own.
std::optional<ClusterDataset> ClusterDatasetOf(const std::string& uri,
                                               const std::string& head);

Result<ExitCode> WarmUpInCluster(const ClusterWarmup& request);

// What to say about an operation that ended, and the code to end with.
struct OperationVerdict {
  ExitCode code = ExitCode::kOk;
  std::vector<std::string> messages;
};
OperationVerdict JudgeOperation(const nlohmann::json& operation);

}  // namespace forebay::cli
