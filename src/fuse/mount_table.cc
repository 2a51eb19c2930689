#include "fuse/mount_table.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/errno_status.h"

namespace forebay::fuse {
namespace {

// Spaces and the like are written as \040.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 3)), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

// 36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw
std::optional<MountEntry> FindMount(std::string_view mountinfo,
                                    std::string_view directory) {
  std::optional<MountEntry> found;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, place, word;
    words >> id >> parent >> device >> root >> place;
    if (Unescape(place) != directory) continue;
    while (words >> word && word != "-") {
    }
    std::string type;
    words >> type;
    found = MountEntry{.type = type, .device = device};  // the last one lies on top
  }
  return found;
}

Result<std::optional<MountEntry>> MountAt(const std::string& directory) {
  std::ifstream file("/proc/self/mountinfo");
  if (!file) return Status::Unavailable("/proc/self/mountinfo cannot be read");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return FindMount(text, directory);
}

Result<std::string> CanonicalMountPoint(const std::string& path) {
  std::error_code error;
  auto whole = std::filesystem::canonical(path, error);
  if (!error) return whole.string();
  if (error == std::errc::no_such_file_or_directory) {
    return Status::NotFound("there is no folder " + path +
                            ": check the path, or make it first");
  }
  // The last name is left alone: asking a dead mount anything fails.
  auto absolute = std::filesystem::absolute(path).lexically_normal();
  if (absolute.filename().empty()) absolute = absolute.parent_path();
  std::error_code ignored;
  auto parent = std::filesystem::canonical(absolute.parent_path(), ignored);
  if (ignored || error.value() != ENOTCONN) {
    return ErrnoStatus(error.value(), "find the directory " + path);
  }
  return (parent / absolute.filename()).string();
}

}  // namespace forebay::fuse
