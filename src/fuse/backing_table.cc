#include "fuse/backing_table.h"

#include <sys/ioctl.h>

#include "fuse/kernel_protocol.h"

namespace forebay::fuse {

BackingTable::Kernel BackingTable::On(int fuse_fd) {
  return {.open =
              [fuse_fd](int fd) {
                kernel::BackingMap map{.fd = fd, .flags = 0, .padding = 0};
                return ::ioctl(fuse_fd, kernel::kIoctlBackingOpen, &map);
              },
          .close =
              [fuse_fd](int id) {
                auto number = static_cast<uint32_t>(id);
                (void)::ioctl(fuse_fd, kernel::kIoctlBackingClose, &number);
              }};
}

int BackingTable::Find(uint64_t node, uint64_t handle) {
  auto found = inodes_.find(node);
  if (found == inodes_.end()) return kUnknown;
  found->second.handles.insert(handle);
  return found->second.id;
}

int BackingTable::Open(uint64_t node, uint64_t handle, int fd) {
  // Two threads may have opened it at once; the first decided.
  int known = Find(node, handle);
  if (known != kUnknown) return known;
  int id = fd < 0 ? 0 : std::max(kernel_.open(fd), 0);
  inodes_[node] = {.id = id, .handles = {handle}};
  return id;
}

void BackingTable::Close(uint64_t node, uint64_t handle) {
  auto found = inodes_.find(node);
  if (found == inodes_.end()) return;
  found->second.handles.erase(handle);
  if (!found->second.handles.empty()) return;
  if (found->second.id > 0) kernel_.close(found->second.id);
  inodes_.erase(found);
}

}  // namespace forebay::fuse
