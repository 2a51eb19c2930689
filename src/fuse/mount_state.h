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
  // lives; what a dead one left is taken away, its mount included. One that was taken
  // away and lives on for open files, or in another namespace, is moved aside.
  static Result<std::unique_ptr<MountState>> Claim(const std::string& directory);
  ~MountState();

  const std::string& directory() const { return directory_; }
  // These may change when the folder is moved aside.
  std::string log_path() const { return folder() + "/log"; }
  std::string socket_path() const { return folder() + "/control"; }
  Status WriteServing(pid_t pid) const;
  // The mount answers: from now on it may be moved aside.
  Status MarkMounted() const { return Write("mounted", "1"); }
  // In a child, which shall not end the mount.
  void Disown() { owned_ = false; }

 private:
  MountState(std::string directory, UniqueFd folder, UniqueFd lock)
      : directory_(std::move(directory)),
        folder_(std::move(folder)),
        lock_(std::move(lock)) {}
  std::string folder() const;
  // A small file, all at once.
  Status Write(const std::string& name, const std::string& text) const;
  const std::string directory_;
  UniqueFd folder_;
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
