// Bytes of a file that a reader handed over: copied, since a mapping would let whoever
// cuts the file short kill the node.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/errno_status.h"

namespace forebay::node {

inline Status ReadWhole(int fd, char* to, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = ::pread(fd, to + done, size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read what a reader sent");
    if (n == 0) return Status::Invalid("a file is shorter than was announced");
    done += static_cast<size_t>(n);
  }
  return Status::OK();
}

}  // namespace forebay::node
