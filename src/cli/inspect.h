// What `forebay inspect` shows of a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/chunk.h"
#include "wire/message.h"

namespace forebay::cli {

struct Inspection {
  std::string uri;
  uint32_t node_pid = 0;
  std::shared_ptr<const model::Manifest> manifest;
  model::Projection columns;
  wire::Coverage cached;
};

nlohmann::ordered_json InspectionJson(const Inspection& inspection);
std::string InspectionText(const Inspection& inspection);

}  // namespace forebay::cli
