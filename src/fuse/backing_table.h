// Which files of the store the kernel reads instead of asking us, by inode. Kept by the
// supervisor, because an inode takes one such file for as long as it is open anywhere,
// however many serving processes come and go. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>

namespace forebay::fuse {

class BackingTable {
 public:
  struct Kernel {
    std::function<int(int fd)> open;  // a backing id above 0; anything else: refused
    std::function<void(int id)> close;
  };
  static Kernel On(int fuse_fd);
  explicit BackingTable(Kernel kernel) : kernel_(std::move(kernel)) {}

  static constexpr int kUnknown = -1;
  // The id that the inode has, 0 when it is read through us, kUnknown when it is open
  // nowhere. The handle counts as open unless it is unknown.
  int Find(uint64_t node, uint64_t handle);
  // The same, where an unknown inode is decided: by that file, or through us (-1, and
  // whenever the kernel refuses).
  int Open(uint64_t node, uint64_t handle, int fd);
  // A handle may be closed twice.
  void Close(uint64_t node, uint64_t handle);
  size_t size() const { return inodes_.size(); }

 private:
  struct Inode {
    int id = 0;
    std::set<uint64_t> handles;
  };
  Kernel kernel_;
  std::unordered_map<uint64_t, Inode> inodes_;
};

}  // namespace forebay::fuse
