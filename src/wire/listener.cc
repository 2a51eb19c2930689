#include "wire/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>

#include "base/errno_status.h"
#include "wire/message.h"
#include "wire/unix_socket.h"

namespace forebay::wire {
namespace {

constexpr int kBacklog = 256;
// A client that can be neither accepted nor turned away stays in the backlog, and the
// socket readable: without a pause the caller would spin.
constexpr milliseconds kPause = milliseconds(50);

UniqueFd Reserve() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

UniqueFd AcceptNow(int socket) {
  return UniqueFd(::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool HasNoRoom(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

Status NoRoomStatus(int error) {
  if (error != EMFILE && error != ENFILE) {
    return Status::Full("there is no memory for another connection");
  }
  return Status::Full(
      "there is no file descriptor left for another connection: raise the limit of open "
      "files (ulimit -n) of the process that listens");
}

}  // namespace

std::string Refusal(const Status& why) { return Encode({0, Failure{why}}); }

void TurnAway(Channel& reader, const Status& why) {
  (void)reader.Send(Refusal(why), {}, Deadline::After(milliseconds(0)));
}

Result<Listener> Listener::At(const std::string& path, Refuse refuse) {
  FB_ASSIGN_OR_RETURN(sockaddr_un address, UnixAddress(path));
  Listener listener;
  listener.refuse_ = refuse;
  listener.socket_ = NewUnixSocket();
  int fd = listener.fd();
  if (fd < 0) return ErrnoStatus(errno, "make a socket");
  // The mode is set on the socket before bind, so that it is never open to others.
  ::fchmod(fd, 0600);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "bind " + path);
  }
  if (::listen(fd, kBacklog) != 0) return ErrnoStatus(errno, "listen at " + path);
  listener.reserve_ = Reserve();
  return listener;
}

Result<std::optional<Channel>> Listener::Accept(Deadline deadline) {
  FB_ASSIGN_OR_RETURN(bool ready, WaitFor(socket_.get(), POLLIN, deadline));
  if (!ready) return std::optional<Channel>();
  UniqueFd fd = AcceptNow(socket_.get());
  if (fd.valid()) {
    if (!reserve_.valid()) reserve_ = Reserve();
    return std::optional<Channel>(Channel(std::move(fd)));
  }
  if (HasNoRoom(errno)) return SendAway(NoRoomStatus(errno));
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
    return std::optional<Channel>();
  }
  return ErrnoStatus(errno, "accept a reader");
}

Status Listener::SendAway(const Status& why) {
  reserve_.Reset();
  UniqueFd fd = AcceptNow(socket_.get());
  if (fd.valid()) {
    Channel client(std::move(fd));
    (void)client.Send(refuse_(why), {}, Deadline::After(milliseconds(0)));
  } else {
    std::this_thread::sleep_for(kPause);
  }
  reserve_ = Reserve();
  return why;
}

}  // namespace forebay::wire
