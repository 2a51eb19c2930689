// What is mounted where, as the kernel tells it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay::fuse {

constexpr const char* kFilesystemType = "fuse.forebay";

struct MountEntry {
  std::string type;
  std::string device;  // "0:45"
};

// What lies on top at a directory, from the text of /proc/self/mountinfo.
std::optional<MountEntry> FindMount(std::string_view mountinfo,
                                    std::string_view directory);
// The same for this process, now.
Result<std::optional<MountEntry>> MountAt(const std::string& directory);
// Absolute and without links; works where a dead mount lies on it.
Result<std::string> CanonicalMountPoint(const std::string& path);

}  // namespace forebay::fuse
