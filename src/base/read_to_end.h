// What another process writes into a pipe until it closes it.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>

namespace forebay {

inline std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[512];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace forebay
