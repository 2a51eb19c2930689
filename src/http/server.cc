#include "http/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "base/errno_status.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/thread_pool.h"
#include "base/unique_fd.h"

namespace forebay::http {
namespace {

constexpr int kBacklog = 1'024;
constexpr size_t kReadBytes = 64 * 1024;
// How often timeouts are looked at, and how long new connections wait when this process
// has no descriptors left.
constexpr milliseconds kTick{250};

struct Connection {
  Connection(UniqueFd fd, RequestParser::Limits limits)
      : fd(std::move(fd)), parser(limits) {}
  UniqueFd fd;
  RequestParser parser;
  std::string peer;
  TimePoint active;      // since when it is idle, or its request arrives
  bool busy = false;     // a worker has it
  bool closing = false;  // the worker saw its end
};

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 307: return "Temporary Redirect";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Status";
  }
}

std::string HeadOf(const Reply& reply, size_t body_bytes, bool keep_alive) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Length: {}\r\nContent-Type: {}\r\n",
                  reply.status, ReasonOf(reply.status), body_bytes, reply.content_type);
  for (const Header& header : reply.headers) {
    head += header.name + ": " + header.value + "\r\n";
  }
  if (!keep_alive) head += "Connection: close\r\n";
  return head + "\r\n";
}

bool SendAll(int fd, std::string_view bytes, milliseconds timeout) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
    if (::poll(&wait, 1, static_cast<int>(timeout.count())) <= 0) return false;
  }
  return true;
}

std::string PeerOf(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host),
                port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  return std::string(host) + ":" + port;
}

Result<UniqueFd> Listen(const ServerOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  std::string place = fmt::format("{}:{}", options.host, options.port);
  if (::getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints,
                    &found) != 0) {
    return Status::Invalid("there is no address to listen at: " + place);
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> guard(found, ::freeaddrinfo);
  UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (fd.get() < 0 || ::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    int error = errno;
    if (error == EADDRINUSE) {
      return Status::Unavailable(place + " is taken: another process listens there");
    }
    return ErrnoStatus(error, "listen at " + place);
  }
  return fd;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  // The port is at the same place in both families.
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

class Server::Loop {
 public:
  struct Descriptors {
    UniqueFd listener;
    UniqueFd epoll{::epoll_create1(EPOLL_CLOEXEC)};
    UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  };
  Loop(const ServerOptions& options, Answer answer, Descriptors descriptors)
      : options_(options),
        answer_(std::move(answer)),
        listener_(std::move(descriptors.listener)),
        epoll_(std::move(descriptors.epoll)),
        wake_(std::move(descriptors.wake)),
        workers_(std::make_unique<ThreadPool>(options.workers)) {
    Watch(EPOLL_CTL_ADD, listener_.get(), EPOLLIN);
    Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN);
  }

  void Run() {
    TimePoint next_tick = Clock::Real().Now() + kTick;
    epoll_event events[64];
    while (!stopping_) {
      int count = ::epoll_wait(epoll_.get(), events, 64, static_cast<int>(kTick.count()));
      for (int i = 0; i < count; ++i) OnEvent(events[i].data.fd);
      TakeBack();
      if (TimePoint now = Clock::Real().Now(); now >= next_tick) {
        next_tick = now + kTick;
        Tick(now);
      }
    }
    workers_.reset();  // answers what was begun
    connections_.clear();
  }

  void Stop() {
    stopping_ = true;
    Wake();
  }

  size_t connection_count() const { return count_; }

 private:
  void Watch(int operation, int fd, uint32_t what) {
    epoll_event event{};
    event.events = what;
    event.data.fd = fd;
    ::epoll_ctl(epoll_.get(), operation, fd, &event);
  }

  void Wake() {
    uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }

  void OnEvent(int fd) {
    if (fd == listener_.get()) return AcceptAll();
    if (fd == wake_.get()) {
      uint64_t count = 0;
      [[maybe_unused]] ssize_t got = ::read(fd, &count, sizeof(count));
      return;
    }
    auto found = connections_.find(fd);
    if (found != connections_.end() && !found->second->busy) Receive(found->second);
  }

  void AcceptAll() {
    while (true) {
      sockaddr_storage address{};
      socklen_t size = sizeof(address);
      UniqueFd fd(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd.get() < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) PauseAccepting();
        return;
      }
      if (connections_.size() >= options_.connections_max) continue;  // turned away
      int on = 1;
      ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      int number = fd.get();
      auto connection = std::make_shared<Connection>(std::move(fd), options_.limits);
      connection->peer = PeerOf(address, size);
      connection->active = Clock::Real().Now();
      connections_[number] = std::move(connection);
      count_ = connections_.size();
      Watch(EPOLL_CTL_ADD, number, EPOLLIN | EPOLLONESHOT);
    }
  }

  // Until the next tick: else the loop would spin.
  void PauseAccepting() {
    Watch(EPOLL_CTL_MOD, listener_.get(), 0);
    paused_ = true;
  }

  void Close(const std::shared_ptr<Connection>& connection) {
    connections_.erase(connection->fd.get());
    count_ = connections_.size();
  }

  void Receive(const std::shared_ptr<Connection>& connection) {
    char buffer[kReadBytes];
    ssize_t got = ::recv(connection->fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      return Close(connection);
    }
    if (got > 0) {
      if (connection->parser.empty()) connection->active = Clock::Real().Now();
      connection->parser.Append({buffer, static_cast<size_t>(got)});
    }
    GoOn(connection);
  }

  // Hands the next request to a worker, or waits for the rest of it.
  void GoOn(const std::shared_ptr<Connection>& connection) {
    auto request = connection->parser.Next();
    if (request.has_value()) {
      request->peer = connection->peer;
      connection->busy = true;
      workers_->Submit([this, connection, request = *std::move(request)] {
        connection->closing = !Respond(*connection, request);
        std::lock_guard lock(mutex_);
        done_.push_back(connection);
        Wake();
      });
      return;
    }
    if (connection->parser.error() != 0) return Refuse(connection);
    if (connection->parser.TakeExpectsContinue()) {
      SendAll(connection->fd.get(), "HTTP/1.1 100 Continue\r\n\r\n", milliseconds(0));
    }
    Watch(EPOLL_CTL_MOD, connection->fd.get(), EPOLLIN | EPOLLONESHOT);
  }

  void Refuse(const std::shared_ptr<Connection>& connection) {
    Reply reply{.status = connection->parser.error()};
    SendAll(connection->fd.get(), HeadOf(reply, 0, false), milliseconds(0));
    ::shutdown(connection->fd.get(), SHUT_WR);
    Close(connection);
  }

  // What one request does must not end the process that serves all others.
  Reply AnswerTo(const Received& request) {
    try {
      return answer_(request);
    } catch (const std::exception& error) {
      spdlog::error("{} {} failed: {}", request.method, request.path, error.what());
      return {.status = 500};
    }
  }

  // False: the connection is of no more use.
  bool Respond(Connection& connection, const Received& request) {
    Reply reply = AnswerTo(request);
    std::string_view body = reply.owner != nullptr ? reply.view : reply.body;
    bool keep = request.keep_alive && !stopping_;
    std::string bytes = HeadOf(reply, body.size(), keep);
    if (request.method == "HEAD") body = {};
    // Small answers are one packet.
    if (body.size() < kReadBytes) bytes += std::exchange(body, {});
    int fd = connection.fd.get();
    return SendAll(fd, bytes, options_.write_timeout) &&
           SendAll(fd, body, options_.write_timeout) && keep;
  }

  void TakeBack() {
    std::vector<std::shared_ptr<Connection>> done;
    {
      std::lock_guard lock(mutex_);
      done.swap(done_);
    }
    for (const auto& connection : done) {
      connection->busy = false;
      connection->active = Clock::Real().Now();
      if (connection->closing) {
        Close(connection);
      } else {
        GoOn(connection);
      }
    }
  }

  void Tick(TimePoint now) {
    if (paused_) {
      paused_ = false;
      Watch(EPOLL_CTL_MOD, listener_.get(), EPOLLIN);
    }
    std::erase_if(connections_, [&](const auto& entry) {
      const Connection& connection = *entry.second;
      if (connection.busy) return false;
      milliseconds limit =
          connection.parser.empty() ? options_.idle_timeout : options_.read_timeout;
      return now - connection.active > limit;
    });
    count_ = connections_.size();
  }

  ServerOptions options_;
  Answer answer_;
  UniqueFd listener_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> count_{0};
  bool paused_ = false;
  std::map<int, std::shared_ptr<Connection>> connections_;  // of the loop's thread
  std::mutex mutex_;
  std::vector<std::shared_ptr<Connection>> done_;  // by workers
  std::unique_ptr<ThreadPool> workers_;
};

Server::Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                              Answer answer) {
  FB_ASSIGN_OR_RETURN(UniqueFd listener, Listen(options));
  std::unique_ptr<Server> server(new Server());
  server->port_ = PortOf(listener.get());
  Loop::Descriptors descriptors{.listener = std::move(listener)};
  if (!descriptors.epoll.valid() || !descriptors.wake.valid()) {
    return ErrnoStatus(EMFILE, "serve HTTP");
  }
  server->loop_ =
      std::make_unique<Loop>(options, std::move(answer), std::move(descriptors));
  FB_ASSIGN_OR_RETURN(server->thread_,
                      StartThread([loop = server->loop_.get()] { loop->Run(); }));
  return server;
}

Server::~Server() {
  if (!thread_.joinable()) return;
  loop_->Stop();
  thread_.join();
}

size_t Server::connection_count() const { return loop_->connection_count(); }

}  // namespace forebay::http
