// forebay refresh DIR
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/duration.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "fuse/mount_state.h"
#include "fuse/mount_table.h"

namespace forebay::cli {
namespace {

struct Arguments {
  std::string directory;
  std::string timeout = "1h";
  OutputFormat format = OutputFormat::kTable;
};

Result<ExitCode> RefreshMount(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(std::string place, fuse::CanonicalMountPoint(arguments.directory));
  FB_ASSIGN_OR_RETURN(milliseconds timeout, ParseDuration(arguments.timeout));
  FB_ASSIGN_OR_RETURN(std::string answer, fuse::AskMount(place, "refresh", timeout));
  std::istringstream words(answer);
  uint64_t added = 0, changed = 0, removed = 0;
  words >> added >> changed >> removed;
  if (arguments.format == OutputFormat::kJson) {
    Print(ToText({{"added", added}, {"changed", changed}, {"removed", removed}}));
  } else {
    Print(
        fmt::format("{} files added, {} changed, {} removed\n", added, changed, removed));
  }
  return ExitCode::kOk;
}

}  // namespace

Run DeclareRefresh(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("DIR", arguments->directory, "where it is mounted")->required();
  app.add_option("--timeout", arguments->timeout, "give up after so long")
      ->option_text("TIME [1h]");
  AddOutputOption(app, &arguments->format);
  return [arguments] { return RefreshMount(*arguments); };
}

}  // namespace forebay::cli
