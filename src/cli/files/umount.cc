// forebay umount DIR
#include <CLI/App.hpp>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "cli/verbs.h"
#include "fuse/mount.h"
#include "fuse/mount_state.h"
#include "fuse/mount_table.h"

namespace forebay::cli {
namespace {

constexpr milliseconds kEndMax = std::chrono::seconds(10);
constexpr milliseconds kPause = milliseconds(5);

struct Arguments {
  std::string directory;
  bool lazy = false;
};

Result<ExitCode> TakeAway(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(std::string place, fuse::CanonicalMountPoint(arguments.directory));
  FB_ASSIGN_OR_RETURN(auto entry, fuse::MountAt(place));
  if (!entry || entry->type != fuse::kFilesystemType) {
    return Status::NotFound("no mount of Forebay is at " + place);
  }
  FB_RETURN_NOT_OK(fuse::Unmount(place, arguments.lazy));
  // Its processes end by themselves; who mounts again at once need not wait for them.
  Deadline deadline = Deadline::After(kEndMax);
  while (!arguments.lazy && fuse::IsSupervised(place) && !deadline.passed()) {
    std::this_thread::sleep_for(kPause);
  }
  return ExitCode::kOk;
}

}  // namespace

Run DeclareUmount(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("DIR", arguments->directory, "where it is mounted")->required();
  app.add_flag("--lazy", arguments->lazy,
               "also when files are open there: it goes when they are closed");
  return [arguments] { return TakeAway(*arguments); };
}

}  // namespace forebay::cli
