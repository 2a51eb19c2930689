#include "leases/local_disk.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <cerrno>
#include <filesystem>

#include "base/errno_status.h"
#include "base/remote_file_system.h"

namespace forebay::leases {
Status RequireLocalDisk(const std::string& path) {
  std::string folder = std::filesystem::absolute(path).parent_path();
  struct statfs facts {};
  if (::statfs(folder.c_str(), &facts) != 0) {
    return ErrnoStatus(errno, "look at the file system of " + folder);
  }
  // f_type is signed on some machines; the numbers have 32 bits.
  const char* name = RemoteFileSystemName(static_cast<uint32_t>(facts.f_type));
  if (name == nullptr) return Status::OK();
  return Status::Unsupported(
      fmt::format("{} is on {}, where locks between machines cannot be trusted: keep "
                  "leases on a disk of this host (a folder under /var or /tmp), or, for "
                  "ranks on several hosts, let a head keep them",
                  folder, name));
}

}  // namespace forebay::leases
