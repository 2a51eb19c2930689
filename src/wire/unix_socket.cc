#include "wire/unix_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/errno_status.h"
#include "wire/channel.h"

namespace forebay::wire {

Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Status::Invalid("the socket path is too long: " + path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

UniqueFd NewUnixSocket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fd;
  // Room for a full message; the default would do on most hosts, not on all.
  int bytes = 4 * static_cast<int>(kMessageBytesMax);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
  return fd;
}

Result<bool> WaitFor(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd waiting{fd, events, 0};
    int n = ::poll(&waiting, 1, static_cast<int>(deadline.Remaining().count()));
    if (n > 0) return true;
    if (n == 0 && deadline.passed()) return false;
    if (n < 0 && errno != EINTR) return ErrnoStatus(errno, "poll");
  }
}

}  // namespace forebay::wire
