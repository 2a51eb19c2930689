// Where a server listens, and where others reach it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay {

struct Address {
  std::string host;
  int port = 0;
};

// "HOST:PORT", "[::1]:7072" or ":7072" (all addresses); port 0 is any free one.
Result<Address> ParseAddress(std::string_view text);

// True where nobody but this machine reaches it: 127.x.y.z, ::1 or localhost. Any other
// name may lead anywhere.
bool IsLoopback(std::string_view host);

// As the machine calls itself.
std::string HostName();

// What others call a server that listens at `address`: `given`, if it is; else that
// place, with the machine's name where it means all addresses.
std::string ReachableAddress(const std::string& given, const Address& address);

}  // namespace forebay
