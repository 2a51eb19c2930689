#include "head/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/uri.h"
#include "cluster/json_fields.h"

namespace forebay::head {
namespace {

using cluster::JsonFields;
using nlohmann::json;

constexpr size_t kNameBytesMax = 128;
constexpr uint32_t kReplicasMax = 16;
constexpr char kTable[] = "table";
constexpr char kFiles[] = "files";
constexpr const char* kGivenMembers[] = {"name",    "kind",    "source",
                                         "options", "columns", "replicas"};

// Options whose values are no secret. All others are: a list of secrets would miss some.
constexpr std::string_view kShown[] = {"s3.endpoint",
                                       "s3.region",
                                       "s3.anonymous",
                                       "s3.role-arn",
                                       "client.region",
                                       "client.role-arn",
                                       "gcs.anonymous",
                                       "gcs.service.host",
                                       "adls.account-name",
                                       "adls.anonymous",
                                       "hdfs.http-port",
                                       "hdfs.user",
                                       "hdfs.webhdfs",
                                       "warehouse",
                                       "prefix",
                                       "s3.role-session-name",
                                       "s3.force-virtual-addressing"};

bool IsShown(std::string_view name) {
  return name.starts_with("forebay.") ||
         std::ranges::find(kShown, name) != std::end(kShown);
}

std::string ShownValue(const std::string& name, const std::string& value) {
  if (IsShown(name)) return RedactUri(value);
  return name == "uri" || name == "oauth2-server-uri" ? RedactUri(value) : "***";
}

json AsJson(const Dataset& dataset) {
  return {{"name", dataset.name},       {"kind", dataset.is_files ? kFiles : kTable},
          {"source", dataset.source},   {"options", dataset.options},
          {"columns", dataset.columns}, {"replicas", dataset.replicas},
          {"version", dataset.version}};
}

Result<source::Options> OptionsIn(JsonFields& fields) {
  source::Options options;
  json given = fields.Any("options");
  if (given.is_null()) return options;
  if (!given.is_object()) return Status::Invalid("a dataset's options are a JSON object");
  for (const auto& [name, value] : given.items()) {
    if (!value.is_string()) {
      return Status::Invalid(
          fmt::format("the option '{}' of a dataset is no text", name));
    }
    options[name] = value.get<std::string>();
  }
  return options;
}

Result<bool> IsFilesIn(JsonFields& fields) {
  std::string kind = fields.TextOr("kind", kTable);
  if (kind == kTable || kind == kFiles) return kind == kFiles;
  return Status::Invalid(
      fmt::format("a dataset's kind is \"table\" or \"files\", not '{}'", kind));
}

Result<std::vector<std::string>> ColumnsIn(JsonFields& fields) {
  std::vector<std::string> columns;
  json given = fields.Any("columns");
  if (given.is_null()) return columns;
  if (!given.is_array())
    return Status::Invalid("a dataset's columns are a list of names");
  for (const json& column : given) {
    if (!column.is_string()) return Status::Invalid("a column's name is a text");
    columns.push_back(column.get<std::string>());
  }
  return columns;
}

// All but the version.
Result<Dataset> ReadDataset(JsonFields& fields) {
  Dataset dataset{.name = fields.Text("name"), .source = fields.Text("source")};
  uint64_t replicas = fields.NumberOr("replicas", 1);
  FB_RETURN_NOT_OK(fields.status());
  FB_RETURN_NOT_OK(CheckDatasetName(dataset.name));
  if (dataset.source.empty()) return Status::Invalid("a dataset needs a source");
  if (replicas < 1 || replicas > kReplicasMax) {
    return Status::Invalid(
        fmt::format("a dataset has 1 to {} replicas, not {}", kReplicasMax, replicas));
  }
  dataset.replicas = static_cast<uint32_t>(replicas);
  FB_ASSIGN_OR_RETURN(dataset.options, OptionsIn(fields));
  FB_ASSIGN_OR_RETURN(dataset.columns, ColumnsIn(fields));
  FB_ASSIGN_OR_RETURN(dataset.is_files, IsFilesIn(fields));
  if (dataset.is_files && !dataset.columns.empty()) {
    return Status::Invalid("files have no columns: leave them out");
  }
  return dataset;
}

std::string ColumnsText(const Dataset& dataset) {
  return dataset.columns.empty() ? "all columns"
                                 : fmt::format("{}", fmt::join(dataset.columns, ","));
}

std::string OptionDifference(const std::string& name, const source::Options& there,
                             const source::Options& wish) {
  if (!wish.contains(name)) return fmt::format("it has the option {} as well", name);
  if (!there.contains(name)) return fmt::format("it has no option {}", name);
  std::string has = ShownValue(name, there.at(name));
  std::string wants = ShownValue(name, wish.at(name));
  if (has == wants) return fmt::format("its option {} has another value", name);
  return fmt::format("its option {} is {}, not {}", name, has, wants);
}

}  // namespace

Status CheckDatasetName(std::string_view name) {
  bool ok = !name.empty() && name.size() <= kNameBytesMax && name != "." &&
            name != ".." && std::ranges::all_of(name, [](unsigned char c) {
              return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
            });
  if (ok) return Status::OK();
  return Status::Invalid(
      "a dataset's name is 1 to 128 letters, digits, dots, dashes and underscores");
}

Status CheckSource(const std::string& source) {
  return CheckNotRelative(source).WithContext("source");
}

std::string DatasetJson(const Dataset& dataset) {
  return AsJson(dataset).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Dataset> ParseDataset(std::string_view text) {
  auto fields = JsonFields::Parse(text, "a dataset");
  FB_ASSIGN_OR_RETURN(Dataset dataset, ReadDataset(fields));
  dataset.version = fields.TextOr("version", "");
  FB_RETURN_NOT_OK(fields.status());
  return dataset;
}

Result<Dataset> ParseNewDataset(std::string_view text) {
  auto fields = JsonFields::Parse(text, "a dataset");
  for (const char* name : kGivenMembers) (void)fields.Any(name);
  fields.RefuseUnknown();
  FB_RETURN_NOT_OK(fields.status());
  return ReadDataset(fields);
}

std::string DifferenceOf(const Dataset& there, const Dataset& wish) {
  std::vector<std::string> parts;
  auto differ = [&](const char* what, const std::string& has, const std::string& wants) {
    if (has != wants)
      parts.push_back(fmt::format("its {} is {}, not {}", what, has, wants));
  };
  differ("kind", there.is_files ? kFiles : kTable, wish.is_files ? kFiles : kTable);
  if (!SamePlace(there.source, wish.source)) {
    std::string has = RedactUri(there.source), wants = RedactUri(wish.source);
    if (has == wants) parts.emplace_back("its source has another password or query");
    differ("source", has, wants);
  }
  if (there.columns != wish.columns) {
    differ("list of columns", ColumnsText(there), ColumnsText(wish));
  }
  differ("number of replicas", std::to_string(there.replicas),
         std::to_string(wish.replicas));
  source::Options names = there.options;
  names.insert(wish.options.begin(), wish.options.end());
  for (const auto& [name, value] : names) {
    auto has = there.options.find(name), wants = wish.options.find(name);
    bool same = has != there.options.end() && wants != wish.options.end() &&
                has->second == wants->second;
    if (!same) parts.push_back(OptionDifference(name, there.options, wish.options));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

json ShownDataset(const Dataset& dataset) {
  json shown = AsJson(dataset);
  shown["source"] = RedactUri(dataset.source);
  for (const auto& [name, value] : dataset.options) {
    shown["options"][name] = ShownValue(name, value);
  }
  return shown;
}

}  // namespace forebay::head
