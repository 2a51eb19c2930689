// What both ends of a Unix socket need: its address, a new one, and waiting for it.
#pragma once

#include <poll.h>
#include <sys/un.h>

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace forebay::wire {

// kInvalid for a path that is too long for a socket.
Result<sockaddr_un> UnixAddress(const std::string& path);
// SOCK_SEQPACKET, non-blocking, close-on-exec; not valid where errno says why.
UniqueFd NewUnixSocket();
// True if `events` (or an error) came on the socket before the deadline.
Result<bool> WaitFor(int fd, short events, Deadline deadline);

}  // namespace forebay::wire
