#include "node/socket_group.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "base/errno_status.h"

namespace forebay::node {

Result<gid_t> GroupOf(const std::string& text) {
  gid_t number = 0;
  const char* end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, number);
  // The largest one means "leave it as it is".
  if (parsed.ec == std::errc() && parsed.ptr == end && number != static_cast<gid_t>(-1)) {
    return number;
  }
  std::vector<char> buffer(1 << 16);
  group entry{};
  group* found = nullptr;
  int error = ::getgrnam_r(text.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (error != 0) return ErrnoStatus(error, "look up the group " + text);
  if (found != nullptr) return found->gr_gid;
  return Status::NotFound(fmt::format(
      "there is no group '{}' on this host: make it, or give its number", text));
}

Status OpenSocketTo(gid_t group, const std::string& socket_path) {
  // First the group, then its rights: nobody else has them in between.
  if (::chown(socket_path.c_str(), static_cast<uid_t>(-1), group) != 0 ||
      ::chmod(socket_path.c_str(), 0660) != 0) {
    return ErrnoStatus(errno, fmt::format("give {} to group {}", socket_path, group));
  }
  return Status::OK();
}

}  // namespace forebay::node
