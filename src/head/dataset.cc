#include "head/dataset.h"

#include <fmt/format.h>

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

Result<source::Options> OptionsIn(const JsonFields& fields) {
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

Result<std::vector<std::string>> ColumnsIn(const JsonFields& fields) {
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
  if (source.starts_with('/') || source.find("://") != source.npos) return Status::OK();
  return Status::Invalid(fmt::format(
      "the source \"{}\" is a relative path: give an absolute one, or a URI", source));
}

std::string DatasetJson(const Dataset& dataset) {
  return AsJson(dataset).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Dataset> ParseDataset(std::string_view text) {
  auto fields = JsonFields::Parse(text, "a dataset");
  Dataset dataset{.name = fields.Text("name"),
                  .source = fields.Text("source"),
                  .version = fields.TextOr("version", "")};
  uint64_t replicas = fields.Any("replicas").is_null() ? 1 : fields.Number("replicas");
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

json ShownDataset(const Dataset& dataset) {
  json shown = AsJson(dataset);
  shown["source"] = RedactUri(dataset.source);
  for (const auto& [name, value] : dataset.options) {
    shown["options"][name] = ShownValue(name, value);
  }
  return shown;
}

}  // namespace forebay::head
