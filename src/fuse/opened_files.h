// How files of a mount are opened: with a message or without, read by us or by the kernel
// itself from the file that holds the bytes. Thread-safe.
//
// The kernel wants all opens of an inode to go the same way while any of them lasts, so
// the supervisor, which outlives us, keeps the table.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "fuse/filesystem.h"
#include "fuse/kernel_protocol.h"
#include "fuse/supervisor_link.h"

namespace forebay::fuse {

enum class Profile : int32_t {
  kSmall = 1,  // no message at all for an open; all reads through the page cache
  kLarge = 2,  // files that are one chunk are read from it without us
};

// From the size distribution: what a dataset mostly is.
Profile ChooseProfile(const Filesystem::Sizes& sizes);
Result<Profile> ParseProfile(const std::string& text);

class OpenedFiles {
 public:
  struct Options {
    Profile profile = Profile::kSmall;
    bool passthrough = false;
    SupervisorLink* supervisor = nullptr;
  };
  explicit OpenedFiles(Options options) : options_(options) {}

  // The kernel shall not ask about opens at all.
  bool without_message() const { return options_.profile == Profile::kSmall; }
  // May have to wait for the file to come.
  bool may_wait(const Filesystem::File& file) const { return IsWholeChunk(file); }
  Result<kernel::OpenOut> Open(uint64_t node, uint64_t unique,
                               const Filesystem::File& file, Deadline deadline);
  void Release(uint64_t node, uint64_t handle);

 private:
  bool IsWholeChunk(const Filesystem::File& file) const;
  bool IsOpen(uint64_t node);
  // The id of the file that the kernel reads, or 0.
  Result<int32_t> BackingOf(uint64_t node, uint64_t handle, const Filesystem::File& file,
                            Deadline deadline);

  const Options options_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, uint64_t> open_;  // by this process: how often
};

}  // namespace forebay::fuse
