// The folder in which a mount leaves what the command line asks for later: its lock, who
// serves, a log, a socket for requests. One per mount point, in the runtime directory of
// the user; it goes with the mount.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace forebay::fuse {

class MountState {
 public:
  // For the mount that begins at a directory (canonical). kInvalid when one is there that
  // lives; what a dead one left is taken away, its mount included.
  static Result<std::unique_ptr<MountState>> Claim(const std::string& directory);
  ~MountState();

  const std::string& directory() const { return directory_; }
  std::string log_path() const { return folder_ + "/log"; }
  std::string socket_path() const { return folder_ + "/control"; }
  Status WriteServing(pid_t pid) const;
  // In a child, which shall not end the mount.
  void Disown() { owned_ = false; }

 private:
  MountState(std::string directory, std::string folder, UniqueFd lock)
      : directory_(std::move(directory)),
        folder_(std::move(folder)),
        lock_(std::move(lock)) {}
  const std::string directory_;
  const std::string folder_;
  UniqueFd lock_;
  bool owned_ = true;
};

// Where the state of the mount at a directory is, or would be.
Result<std::string> MountStateFolder(const std::string& directory);
// The process that answers now.
Result<pid_t> ServingPid(const std::string& directory);
// Whether the supervisor of the mount lives.
bool IsSupervised(const std::string& directory);

// Asks the mount at a directory and returns what it says. Waits for a new serving process
// when the one there dies.
Result<std::string> AskMount(const std::string& directory, const std::string& request,
                             milliseconds timeout);

}  // namespace forebay::fuse
