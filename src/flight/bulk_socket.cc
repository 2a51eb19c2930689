#include "flight/bulk_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "base/errno_status.h"

namespace forebay::flight {
namespace {

constexpr milliseconds kLookInterval = milliseconds(25);
// What one call hands to the kernel.
constexpr size_t kSendBytes = size_t{1} << 20;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Addresses> Resolve(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status::Unavailable("the host " + host +
                               " is not known: " + ::gai_strerror(error));
  }
  return Addresses(found, &::freeaddrinfo);
}

Status Gone(int error) {
  return Status::Unavailable("a peer has gone: " + ErrnoStatus(error, "talk").message());
}

bool MustWait(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

// Calls wait in the kernel, which needs fewer turns than polling, and come back often
// enough to look at the time.
BulkSocket::BulkSocket(UniqueFd fd) : fd_(std::move(fd)) {
  int flags = ::fcntl(fd_.get(), F_GETFL);
  ::fcntl(fd_.get(), F_SETFL, flags & ~O_NONBLOCK);
  timeval interval{.tv_sec = 0,
                   .tv_usec = std::chrono::microseconds(kLookInterval).count()};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &interval, sizeof(interval));
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &interval, sizeof(interval));
  int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Status BulkSocket::Patience::Check() const {
  if (ended && ended()) return Status::Cancelled("the call was given up");
  if (deadline.passed()) return Status::Deadline("a peer did not answer in time");
  return Status::OK();
}

namespace {

Status AwaitConnection(int fd, const BulkSocket::Patience& patience) {
  pollfd poll{.fd = fd, .events = POLLOUT, .revents = 0};
  while (::poll(&poll, 1, static_cast<int>(kLookInterval.count())) <= 0) {
    FB_RETURN_NOT_OK(patience.Check());
  }
  return Status::OK();
}

}  // namespace

Result<BulkSocket> BulkSocket::Connect(const std::string& host, int port,
                                       const Patience& patience) {
  FB_ASSIGN_OR_RETURN(Addresses addresses, Resolve(host, port, 0));
  Status status = Status::Unavailable("the host " + host + " has no address");
  for (addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    UniqueFd fd(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return ErrnoStatus(errno, "make a socket");
    int connected = ::connect(fd.get(), at->ai_addr, at->ai_addrlen);
    int error = connected == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      FB_RETURN_NOT_OK(AwaitConnection(fd.get(), patience));
      socklen_t size = sizeof(error);
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) return BulkSocket(std::move(fd));
    status = Gone(error);
  }
  return status;
}

Status BulkSocket::Send(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    ssize_t n =
        ::send(fd_.get(), bytes.data(), std::min(bytes.size(), kSendBytes), MSG_NOSIGNAL);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      // One that takes a little at a time never makes this wait.
      if (!bytes.empty()) FB_RETURN_NOT_OK(patience.Check());
    } else if (MustWait(errno)) {
      FB_RETURN_NOT_OK(patience.Check());
    } else if (errno != EINTR) {
      return Gone(errno);
    }
  }
  return Status::OK();
}

Result<size_t> BulkSocket::ReceiveSome(void* data, size_t size,
                                       const Patience& patience) {
  for (;;) {
    ssize_t n = ::recv(fd_.get(), data, size, MSG_WAITALL);
    if (n >= 0) return static_cast<size_t>(n);
    if (MustWait(errno)) {
      FB_RETURN_NOT_OK(patience.Check());
    } else if (errno != EINTR) {
      return Gone(errno);
    }
  }
}

Status BulkSocket::Receive(void* data, size_t size, const Patience& patience) {
  auto* to = static_cast<char*>(data);
  while (size > 0) {
    FB_ASSIGN_OR_RETURN(size_t n, ReceiveSome(to, size, patience));
    if (n == 0) return Status::Unavailable("a peer has closed the connection");
    to += n;
    size -= n;
    if (size > 0) FB_RETURN_NOT_OK(patience.Check());
  }
  return Status::OK();
}

bool BulkSocket::HasInput() const {
  pollfd poll{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) != 0;
}

Result<BulkListener> BulkListener::Listen(const std::string& host, int port) {
  FB_ASSIGN_OR_RETURN(Addresses addresses, Resolve(host, port, AI_PASSIVE));
  const addrinfo* at = addresses.get();
  BulkListener listener;
  listener.fd =
      UniqueFd(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd.valid()) return ErrnoStatus(errno, "make a socket");
  // Connections that ended a moment ago do not keep a port.
  int on = 1;
  ::setsockopt(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  constexpr int kBacklog = 128;
  if (::bind(listener.fd.get(), at->ai_addr, at->ai_addrlen) != 0 ||
      ::listen(listener.fd.get(), kBacklog) != 0) {
    int error = errno;
    if (error == EADDRINUSE) {
      return Status::Unavailable(
          fmt::format("{}:{} is taken: another process listens there", host, port));
    }
    return ErrnoStatus(error, "listen at " + host);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  ::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  listener.port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                        : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return listener;
}

namespace {

constexpr size_t kCheckOffset = 20;  // of the header's own checksum, a u32

// Of the header with zeros in the place of the checksum.
uint32_t CheckOf(std::string header) {
  std::memset(header.data() + kCheckOffset, 0, sizeof(uint32_t));
  return static_cast<uint32_t>(HashBytes(header).low);
}

}  // namespace

std::string BulkHeader::Encode() const {
  Encoder out;
  out.Put(kMagic);
  out.Put(static_cast<uint32_t>(kind));
  out.Put(size);
  out.Put(index);
  out.Put<uint32_t>(0);
  for (const Hash128& hash : {key, checksum}) {
    out.Put(hash.high);
    out.Put(hash.low);
  }
  std::string bytes = out.Take();
  uint32_t check = CheckOf(bytes);
  std::memcpy(bytes.data() + kCheckOffset, &check, sizeof(check));
  return bytes;
}

Result<BulkHeader> BulkHeader::Decode(std::string_view bytes) {
  Decoder in(bytes);
  BulkHeader header;
  auto magic = in.Get<uint32_t>();
  auto kind = in.Get<uint32_t>();
  header.size = in.Get<uint64_t>();
  header.index = in.Get<uint32_t>();
  auto check = in.Get<uint32_t>();
  for (Hash128* hash : {&header.key, &header.checksum}) {
    hash->high = in.Get<uint64_t>();
    hash->low = in.Get<uint64_t>();
  }
  bool known = kind >= 1 && kind <= static_cast<uint32_t>(Kind::kWorking);
  if (!in.done() || magic != kMagic || !known) {
    return Status::Corrupt("what came over the bulk channel is not Forebay's");
  }
  if (check != CheckOf(std::string(bytes))) {
    return Status::Corrupt("a header was damaged on its way over the bulk channel");
  }
  header.kind = static_cast<Kind>(kind);
  return header;
}

Status BulkHeader::CheckBody(std::string_view body) const {
  if (HashBytes(body) == checksum) return Status::OK();
  return Status::Corrupt("a message was damaged on its way over the bulk channel");
}

}  // namespace forebay::flight
