#include "http/message.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace forebay::http {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::string_view Response::Find(std::string_view name) const {
  for (const Header& header : headers) {
    if (SameName(header.name, name)) return header.value;
  }
  return {};
}

std::optional<int64_t> Response::ContentLength() const {
  return ParseNumber(Find("Content-Length"));
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace forebay::http
