// The arguments of verbs that open a table which are about Iceberg: which state, which
// rows, which catalog, and where files may lie.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace CLI {
class App;
}

namespace forebay::cli {

struct IcebergArguments {
  std::string snapshot;
  std::string tag;
  std::string branch;
  std::string as_of;
  std::string filter;
  std::vector<std::string> remaps;  // "s3://old/=s3://new/"
  std::vector<std::string> allowed;
  std::string catalog;
  std::string warehouse;
};

void AddIcebergArguments(CLI::App& app, IcebergArguments* arguments);

// The arguments as the node takes them, "forebay.snapshot" and so on. kInvalid where they
// contradict each other.
Result<std::map<std::string, std::string>> IcebergOptions(
    const IcebergArguments& arguments);

// "2026-10-01", "2026-10-01T12:30:00.5+02:00" (UTC where it names no zone), or
// milliseconds: the milliseconds since 1970.
Result<int64_t> ParseInstant(std::string_view text);

}  // namespace forebay::cli
