#include "source/webhdfs_json.h"

#include <nlohmann/json.hpp>

namespace forebay::source {
namespace {

using Json = nlohmann::json;

Json Parse(std::string_view text) { return Json::parse(text, nullptr, false); }

// A null Json where a step of the way is missing.
const Json& At(const Json& json, const char* name) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  auto found = json.find(name);
  return found == json.end() ? kNull : *found;
}

int64_t Number(const Json& json, const char* name, int64_t otherwise) {
  const Json& value = At(json, name);
  return value.is_number_integer() ? value.get<int64_t>() : otherwise;
}

std::string Text(const Json& json, const char* name) {
  const Json& value = At(json, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Result<HdfsEntry> ParseEntry(const Json& json) {
  HdfsEntry entry;
  std::string type = Text(json, "type");
  entry.name = Text(json, "pathSuffix");
  entry.is_folder = type == "DIRECTORY";
  if (type == "SYMLINK") entry.link_target = Text(json, "symlink");
  entry.size = Number(json, "length", -1);
  entry.modified_ms = Number(json, "modificationTime", -1);
  entry.file_id = static_cast<uint64_t>(Number(json, "fileId", 0));
  if (type.empty() || entry.size < 0 || entry.modified_ms < 0) {
    return Status::Corrupt("WebHDFS gave a file status without type, length or time");
  }
  return entry;
}

}  // namespace

Result<HdfsEntry> ParseHdfsStatus(std::string_view json) {
  return ParseEntry(At(Parse(json), "FileStatus"));
}

Result<std::vector<HdfsEntry>> ParseHdfsStatuses(std::string_view json) {
  Json document = Parse(json);
  const Json& list = At(At(document, "FileStatuses"), "FileStatus");
  if (!list.is_array()) return Status::Corrupt("WebHDFS gave a list that is not one");
  std::vector<HdfsEntry> entries;
  for (const Json& item : list) {
    FB_ASSIGN_OR_RETURN(HdfsEntry entry, ParseEntry(item));
    entries.push_back(std::move(entry));
  }
  return entries;
}

HdfsError ParseHdfsError(std::string_view json) {
  Json document = Parse(json);
  const Json& error = At(document, "RemoteException");
  return {Text(error, "exception"), Text(error, "message")};
}

}  // namespace forebay::source
