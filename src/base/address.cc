#include "base/address.h"

#include <fmt/format.h>
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

std::string HostName() {
  char name[256] = "";
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

std::string ReachableAddress(const std::string& given, const Address& address) {
  if (!given.empty()) return given;
  bool all = address.host == "0.0.0.0" || address.host == "::";
  return fmt::format("{}:{}", all ? HostName() : address.host, address.port);
}

}  // namespace forebay
