#include "model/source_options.h"

#include <algorithm>
#include <vector>

#include "base/near_miss.h"

namespace forebay::model {
namespace {

constexpr std::string_view kHeader = "header.";
constexpr std::string_view kOfTables = "forebay.";

bool In(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

// A name of its own follows.
bool IsOpen(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && name.size() > prefix.size();
}

bool IsTableOption(std::string_view name) {
  return In(kTableOptions, name) || name.starts_with("forebay.remap.") ||
         IsOpen(name, "forebay.allow.");
}

bool IsKnown(std::string_view name) {
  return IsSourceOption(name) || In(kHttpOptions, name) || In(kFileOptions, name) ||
         IsCatalogOption(name) || IsTableOption(name);
}

std::vector<std::string_view> AllNames() {
  std::vector<std::string_view> names;
  auto add = [&](const auto& more) {
    names.insert(names.end(), std::begin(more), std::end(more));
  };
  add(kS3Options);
  add(kAwsOptions);
  add(kGcsOptions);
  add(kAdlsOptions);
  add(kHdfsOptions);
  add(kFileOptions);
  add(kHttpOptions);
  add(kCatalogOptions);
  add(kTableOptions);
  return names;
}

}  // namespace

bool IsSourceOption(std::string_view name) {
  return In(kS3Options, name) || In(kAwsOptions, name) || In(kGcsOptions, name) ||
         In(kAdlsOptions, name) || In(kHdfsOptions, name);
}

bool IsCatalogOption(std::string_view name) {
  return In(kCatalogOptions, name) || IsOpen(name, kHeader);
}

Status CheckOptions(const OptionMap& options) {
  for (const auto& [name, value] : options) {
    if (!IsKnown(name)) return UnknownOption(name);
  }
  return Status::OK();
}

Status CheckFilesOptions(const OptionMap& options) {
  for (const auto& [name, value] : options) {
    if (!IsTableOption(name)) continue;
    return Status::Invalid(
        "the option " + name +
        " is for tables, and a tree of files is no table: leave it out");
  }
  return CheckOptions(options);
}

Status UnknownOption(std::string_view name) {
  std::vector<std::string_view> known = AllNames();
  std::string guess = DidYouMean(name, known);
  if (guess.empty()) {
    // All of its kind: "s3.x" lists what begins with "s3.".
    std::string_view kind = name.substr(0, name.find('.') + 1);
    for (std::string_view other : known) {
      bool same = !kind.empty() && other.starts_with(kind);
      if (same) guess += (guess.empty() ? "; there are " : ", ") + std::string(other);
    }
  }
  if (guess.empty()) guess = "; docs/sources.md and docs/iceberg.md list all";
  return Status::Invalid("there is no option " + std::string(name) + guess);
}

}  // namespace forebay::model
