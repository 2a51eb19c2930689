#include "kubeflow/own_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "base/unique_fd.h"

namespace forebay::kubeflow {
namespace {

// Nothing is sent: connecting a datagram socket only chooses the way.
Result<std::string> SourceAddressOf(const addrinfo& target) {
  UniqueFd socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  char text[NI_MAXHOST] = "";
  auto* address = reinterpret_cast<sockaddr*>(&own);
  bool found =
      socket.valid() && ::connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0 &&
      ::getsockname(socket.get(), address, &size) == 0 &&
      ::getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0;
  if (found) return std::string(text);
  return Status::Unavailable("there is no way to that host");
}

}  // namespace

Result<std::string> OwnAddressTowards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  int failed = ::getaddrinfo(host.c_str(), "7070", &hints, &list);
  if (failed != 0) {
    return Status::Unavailable(
        fmt::format("the name {} is not known: {}", host, ::gai_strerror(failed)));
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> targets(list, &::freeaddrinfo);
  for (const addrinfo* target = list; target != nullptr; target = target->ai_next) {
    auto own = SourceAddressOf(*target);
    if (own.ok()) return own;
  }
  return Status::Unavailable(fmt::format("there is no way to {}", host));
}

std::string WithPort(const std::string& address, int port) {
  bool six = address.find(':') != address.npos;
  return six ? fmt::format("[{}]:{}", address, port)
             : fmt::format("{}:{}", address, port);
}

}  // namespace forebay::kubeflow
