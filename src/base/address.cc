#include "base/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <charconv>

namespace forebay {

Result<Address> ParseAddress(std::string_view text) {
  Address address;
  size_t colon = text.rfind(':');
  bool right = colon != std::string_view::npos;
  if (right) {
    std::string_view port = text.substr(colon + 1);
    auto [end, error] =
        std::from_chars(port.data(), port.data() + port.size(), address.port);
    right = error == std::errc() && end == port.data() + port.size() &&
            address.port >= 0 && address.port <= 65535;
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
      host = host.substr(1, host.size() - 2);
    } else {
      right = right && host.find(':') == std::string_view::npos;
    }
    address.host = host.empty() ? "0.0.0.0" : std::string(host);
  }
  if (right) return address;
  return Status::Invalid(
      fmt::format("\"{}\" is no address: give HOST:PORT, as 127.0.0.1:7072", text));
}

bool IsLoopback(std::string_view host) {
  if (host == "localhost") return true;
  in_addr four{};
  in6_addr six{};
  std::string text(host);
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string HostName() {
  char name[256] = "";
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

std::string ReachableAddress(const std::string& given, const Address& address) {
  if (!given.empty()) return given;
  bool all = address.host == "0.0.0.0" || address.host == "::";
  std::string host = all ? HostName() : address.host;
  bool is_v6 = host.find(':') != host.npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", address.port);
}

}  // namespace forebay
