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
// As stored. kInvalid names what is wrong.
Result<Dataset> ParseDataset(std::string_view json);
// As a caller asks for it: without a version, and with nothing in it that this head does
// not know.
Result<Dataset> ParseNewDataset(std::string_view json);
// In what a wish differs from the dataset that has its name, for people: "replicas is 1,
// not 2". Values that may be secret are left out. Empty: in nothing but the version.
std::string DifferenceOf(const Dataset& there, const Dataset& wish);
// For people and logs: values of options that may be secret are "***", URIs are without
// passwords.
nlohmann::json ShownDataset(const Dataset& dataset);

}  // namespace forebay::head
