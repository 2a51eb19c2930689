// A dataset of the cluster: a name for a source, with how it is to be read and kept.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "source/source.h"

namespace forebay::head {

struct Dataset {
  std::string name{};
  bool is_files = false;               // a tree of files, no table
  std::string source{};                // a URI
  source::Options options{};           // may hold credentials
  std::vector<std::string> columns{};  // what is kept; empty: all
  uint32_t replicas = 1;
  std::string version{};  // pinned: 32 hex digits; empty before
};

// 1 to 128 letters, digits, dots, dashes and underscores: it is part of URIs.
Status CheckDatasetName(std::string_view name);
// No relative path: it would mean the head's working directory, which no caller knows.
Status CheckSource(const std::string& source);

// With everything: for the metadata store, and for nodes.
std::string DatasetJson(const Dataset& dataset);
// As stored, or as a caller sent it (without a version). kInvalid names what is wrong.
Result<Dataset> ParseDataset(std::string_view json);
// For people and logs: values of options that may be secret are "***", URIs are without
// passwords.
nlohmann::json ShownDataset(const Dataset& dataset);

}  // namespace forebay::head
