#include "base/uri.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace forebay {
namespace {

bool IsScheme(std::string_view s) {
  if (s.empty() || std::isalpha(static_cast<unsigned char>(s[0])) == 0) return false;
  return std::ranges::all_of(s, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  });
}

}  // namespace

Result<Uri> Uri::Parse(std::string_view text) {
  if (text.empty()) return Status::Invalid("the URI is empty: give a path or a URI");
  if (text.find('\0') != text.npos) return Status::Invalid("the URI contains a NUL byte");
  Uri uri;
  size_t mark = text.find("://");
  if (mark == text.npos || !IsScheme(text.substr(0, mark))) {
    uri.scheme = "file";
    std::error_code error;
    auto absolute = std::filesystem::absolute(std::string(text), error);
    if (error) return Status::Invalid("not a usable path: " + std::string(text));
    uri.path = absolute.lexically_normal().string();
    return uri;
  }
  for (char c : text.substr(0, mark)) {
    uri.scheme += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (uri.scheme == "local") uri.scheme = "file";
  std::string_view rest = text.substr(mark + 3);
  size_t slash = std::min(rest.find('/'), rest.size());
  uri.authority = std::string(rest.substr(0, slash));
  uri.path = std::string(rest.substr(slash));
  if (uri.scheme == "file") {
    if (!uri.authority.empty() && uri.authority != "localhost") {
      return Status::Invalid("a file URI names no host, write file:///path: " +
                             std::string(text));
    }
    uri.authority.clear();
    uri.path = std::filesystem::path(uri.path).lexically_normal().string();
  } else if (uri.authority.empty()) {
    return Status::Invalid("the URI names no host or bucket: " + std::string(text));
  }
  return uri;
}

std::string Uri::ToString() const { return scheme + "://" + authority + path; }

std::string RedactUri(std::string_view text) {
  std::string out(text);
  size_t mark = out.find("://");
  if (mark != out.npos) {
    size_t end = out.find('/', mark + 3);
    size_t at = out.rfind('@', end);
    if (at != out.npos && at > mark) out.erase(mark + 3, at - mark - 2);
  }
  size_t query = out.find('?');
  if (query == out.npos) return out;
  std::string clean = out.substr(0, query);
  bool in_value = false;
  for (char c : out.substr(query)) {
    if (c == '&') in_value = false;
    if (!in_value) clean += c;
    if (c == '=') {
      in_value = true;
      clean += "...";
    }
  }
  return clean;
}

}  // namespace forebay
