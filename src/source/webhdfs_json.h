// The JSON that WebHDFS answers with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::source {

struct HdfsEntry {
  std::string name;  // below the path asked for; empty: that path itself
  bool is_folder = false;
  std::string link_target;  // empty: it is no link
  int64_t size = 0;
  int64_t modified_ms = 0;
  uint64_t file_id = 0;
};

Result<HdfsEntry> ParseHdfsStatus(std::string_view json);
Result<std::vector<HdfsEntry>> ParseHdfsStatuses(std::string_view json);

struct HdfsError {
  std::string exception;  // "FileNotFoundException"
  std::string message;
};
// Empty where the body is not a RemoteException.
HdfsError ParseHdfsError(std::string_view json);

}  // namespace forebay::source
