// forebay mount SOURCE DIR: becomes forebay-mount, which lies beside this program.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "cli/become.h"
#include "cli/files/mount_arguments.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "fuse/mount_state.h"
#include "fuse/mount_table.h"

namespace forebay::cli {
namespace {

Result<ExitCode> PrintServingPid(const std::string& directory) {
  FB_ASSIGN_OR_RETURN(std::string place, fuse::CanonicalMountPoint(directory));
  FB_ASSIGN_OR_RETURN(pid_t pid, fuse::ServingPid(place));
  Print(fmt::format("{}\n", pid));
  return ExitCode::kOk;
}

}  // namespace

Run DeclareMount(CLI::App& app) {
  auto arguments = std::make_shared<MountArguments>();
  auto asked = std::make_shared<std::string>();
  AddMountArguments(app, arguments.get());
  app.add_option("--serving-pid", *asked,
                 "show the process that serves the mount at DIR, and mount nothing")
      ->option_text("DIR");
  return [arguments, asked]() -> Result<ExitCode> {
    if (!asked->empty()) return PrintServingPid(*asked);
    FB_ASSIGN_OR_RETURN(std::vector<std::string> words, MountWords(*arguments));
    FB_ASSIGN_OR_RETURN(std::string program,
                        FindBeside("forebay-mount", "FOREBAY_MOUNT_BINARY"));
    words.insert(words.begin(), program);
    return Become(words);
  };
}

}  // namespace forebay::cli
