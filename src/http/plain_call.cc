#include "http/plain_call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/address.h"
#include "base/unique_fd.h"

namespace forebay::http {
namespace {

constexpr size_t kHeadBytesMax = 256 * 1024;

Status Lost(const std::string& address, int error) {
  return Status::Unavailable(
      fmt::format("{} does not answer: {}", address,
                  error == 0 ? "the connection was closed" : std::strerror(error)));
}

// False: the time was up.
bool WaitFor(int fd, short events, Deadline deadline) {
  pollfd wait{.fd = fd, .events = events, .revents = 0};
  while (true) {
    int ready = ::poll(&wait, 1, static_cast<int>(deadline.Remaining().count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// 0, or an errno.
int ConnectTo(const addrinfo& address, UniqueFd* fd, Deadline deadline) {
  *fd = UniqueFd(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd->valid()) return errno;
  if (::connect(fd->get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!WaitFor(fd->get(), POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(fd->get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::string WithPort(const std::string& address) {
  size_t host_end = address.find(']');
  size_t colon = address.find(':', host_end == address.npos ? 0 : host_end);
  return colon == address.npos ? address + ":80" : address;
}

Result<UniqueFd> Connect(const PlainRequest& request, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Address at, ParseAddress(WithPort(request.address)));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::string port = std::to_string(at.port);
  int failure = ::getaddrinfo(at.host.c_str(), port.c_str(), &hints, &found);
  if (failure != 0) {
    std::string why = fmt::format("{}: {}", request.address, ::gai_strerror(failure));
    return failure == EAI_AGAIN ? Status::Unavailable(why) : Status::Invalid(why);
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> guard(found, ::freeaddrinfo);
  Deadline attempt =
      Deadline::After(std::min(request.connect_timeout, deadline.Remaining()));
  int error = 0;
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) {
    UniqueFd fd;
    error = ConnectTo(*one, &fd, attempt);
    if (error == 0) return fd;
  }
  return Lost(request.address, error);
}

Status SendAll(int fd, std::string_view bytes, const std::string& address,
               Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return Lost(address, errno);
    } else if (!WaitFor(fd, POLLOUT, deadline)) {
      return Status::Deadline(address + " takes nothing of what it is told");
    }
  }
  return Status::OK();
}

// Whatever comes until the server closes: we ask it to.
Result<std::string> ReceiveAll(int fd, const PlainRequest& request, Deadline deadline) {
  std::string bytes;
  char buffer[64 * 1024];
  while (true) {
    ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
    if (got == 0) return bytes;
    if (got > 0) {
      bytes.append(buffer, static_cast<size_t>(got));
      if (bytes.size() > request.answer_bytes_max + kHeadBytesMax) {
        return Status::Full(request.address + " answers more than makes sense");
      }
    } else if (errno != EAGAIN && errno != EINTR) {
      return Lost(request.address, errno);
    } else if (!WaitFor(fd, POLLIN, deadline)) {
      return Status::Deadline("no answer of " + request.address + " in time");
    }
  }
}

}  // namespace

Result<PlainAnswer> CallPlain(const PlainRequest& request, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, Connect(request, deadline));
  std::string head = fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n"
      "Content-Type: application/json\r\nUser-Agent: forebay/" FOREBAY_VERSION "\r\n\r\n",
      request.method, request.target, request.address, request.body.size());
  FB_RETURN_NOT_OK(SendAll(fd.get(), head + request.body, request.address, deadline));
  FB_ASSIGN_OR_RETURN(std::string bytes, ReceiveAll(fd.get(), request, deadline));
  if (bytes.empty()) return Lost(request.address, 0);
  return ParseAnswer(bytes, request.address);
}

}  // namespace forebay::http
