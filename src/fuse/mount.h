// A file system of the kernel and its descriptors: mounting, the first exchange, more
// descriptors, unmounting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "fuse/kernel_protocol.h"

namespace forebay::fuse {

struct MountOptions {
  std::string directory;  // canonical
  std::string name;       // what `mount` shows as the device
  bool allow_other = false;
};

// What supervisor and kernel agreed on.
struct Agreement {
  uint32_t kernel_minor = 0;
  uint64_t flags = 0;
  bool passthrough() const { return (flags & kernel::kPassthrough) != 0; }
  bool resend() const { return (flags & kernel::kHasResend) != 0; }
};

// As root by mount(2), else by fusermount3.
Result<UniqueFd> Mount(const MountOptions& options);
// A mount whose files are open is kUnavailable; a lazy one leaves when they are closed.
Status Unmount(const std::string& directory, bool lazy);

// Reads the kernel's INIT and answers it. `privileged`: passthrough may be asked for.
Result<Agreement> Greet(int fuse_fd, bool privileged);
// The answer to an INIT.
kernel::InitOut AnswerTo(const fuse_init_in& in, bool privileged, Agreement* agreement);

// Another descriptor of the same file system, with a queue of its own.
Result<UniqueFd> Clone(int fuse_fd);
// The kernel sends again what was taken and not answered.
Status Resend(int fuse_fd);
// True once nothing of it is mounted any more, or it was aborted.
bool IsOver(int fuse_fd);
// Reads ahead further than the kernel does unasked. Best effort.
void RaiseReadAhead(const std::string& directory);

}  // namespace forebay::fuse
