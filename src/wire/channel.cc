#include "wire/channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/errno_status.h"
#include "wire/unix_socket.h"

namespace forebay::wire {
namespace {

Status PeerGoneStatus() { return Status::Unavailable("the other end has gone away"); }

Result<ucred> PeerOf(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus(errno, "ask who is at the other end");
  }
  return peer;
}

bool IsGone(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN;
}

}  // namespace

Channel::Channel(UniqueFd socket)
    : socket_(std::move(socket)), send_mutex_(std::make_unique<std::timed_mutex>()) {}

Result<Channel> Channel::Connect(const std::string& path) {
  FB_ASSIGN_OR_RETURN(sockaddr_un address, UnixAddress(path));
  UniqueFd fd = NewUnixSocket();
  if (!fd.valid()) return ErrnoStatus(errno, "make a socket");
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "connect to the node at " + path);
  }
  return Channel(std::move(fd));
}

Status Channel::Send(std::string_view bytes, const std::vector<int>& fds,
                     Deadline deadline) {
  if (bytes.size() > kMessageBytesMax || fds.size() > kMessageFdsMax) {
    return Status::Internal("a message is larger than a message may be");
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMessageFdsMax)];
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  std::unique_lock lock(*send_mutex_, std::defer_lock);
  if (!lock.try_lock_until(deadline.when())) {
    return Status::Deadline("the other end takes no messages");
  }
  for (;;) {
    if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) return Status::OK();
    if (IsGone(errno)) return PeerGoneStatus();
    // ETOOMANYREFS: too many descriptors in flight; the reader will take them off.
    if (errno != EAGAIN && errno != EINTR && errno != ETOOMANYREFS) {
      return ErrnoStatus(errno, "send to the other end");
    }
    // With too many descriptors in flight the socket polls writable all the same.
    if (errno == ETOOMANYREFS) std::this_thread::sleep_for(milliseconds(1));
    FB_ASSIGN_OR_RETURN(bool ready, WaitFor(socket_.get(), POLLOUT, deadline));
    if (!ready || deadline.passed()) {
      return Status::Deadline("the other end takes no messages");
    }
  }
}

Result<std::optional<Packet>> Channel::ReceiveNow() {
  buffer_.resize(kMessageBytesMax);
  iovec part{buffer_.data(), buffer_.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMessageFdsMax)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t n = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::optional<Packet>();
    if (IsGone(errno)) return PeerGoneStatus();
    return ErrnoStatus(errno, "receive from the other end");
  }
  Packet packet;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      packet.fds.emplace_back(fd);
    }
  }
  if (n == 0) return PeerGoneStatus();
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return Status::Full(
        "descriptors were lost: raise the limit of open files (ulimit -n)");
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return Status::Corrupt("the other end sent a message that is too large");
  }
  packet.bytes.assign(buffer_.data(), static_cast<size_t>(n));
  return std::optional<Packet>(std::move(packet));
}

Result<Packet> Channel::Receive(Deadline deadline) {
  for (;;) {
    FB_ASSIGN_OR_RETURN(std::optional<Packet> packet, ReceiveNow());
    if (packet) return *std::move(packet);
    FB_ASSIGN_OR_RETURN(bool ready, WaitFor(socket_.get(), POLLIN, deadline));
    if (!ready) return Status::Deadline("the other end did not answer in time");
  }
}

Result<std::optional<Packet>> Channel::TryReceive() { return ReceiveNow(); }

bool Channel::PeerGone() const {
  char byte = 0;
  ssize_t n = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && IsGone(errno));
}

void Channel::Shutdown() { ::shutdown(socket_.get(), SHUT_RDWR); }

Result<uint32_t> Channel::PeerUser() const {
  FB_ASSIGN_OR_RETURN(ucred peer, PeerOf(socket_.get()));
  return peer.uid;
}

Result<pid_t> Channel::PeerPid() const {
  FB_ASSIGN_OR_RETURN(ucred peer, PeerOf(socket_.get()));
  return peer.pid;
}

}  // namespace forebay::wire
