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

// How much of host-and-path is "user:password@". Secret keys may hold a '/', so a ':'
// that starts no port number means that everything up to the last '@' is credentials.
size_t CredentialsSize(std::string_view place) {
  std::string_view authority = place.substr(0, place.find('/'));
  size_t at = authority.rfind('@');
  size_t colon = authority.find(':');
  if (at == place.npos && colon != place.npos) {
    bool port = std::ranges::all_of(authority.substr(colon + 1),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!port) at = place.rfind('@');
  }
  return at == place.npos ? 0 : at + 1;
}

// "?a=1&b" becomes "?a=...&b".
std::string WithoutValues(std::string_view query) {
  std::string out;
  bool in_value = false;
  for (char c : query) {
    if (c == '&') in_value = false;
    if (!in_value) out += c;
    if (c == '=' && !in_value) {
      in_value = true;
      out += "...";
    }
  }
  return out;
}

}  // namespace

Result<Uri> Uri::Parse(std::string_view text) {
  if (text.empty()) return Status::Invalid("the URI is empty: give a path or a URI");
  if (text.find('\0') != text.npos) return Status::Invalid("the URI contains a NUL byte");
  Uri uri;
  // "file:/x": how Hadoop, and so the metadata of many Iceberg tables, writes local
  // paths.
  if (text.starts_with("file:/") && !text.starts_with("file://")) text.remove_prefix(5);
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
                             RedactUri(text));
    }
    uri.authority.clear();
    uri.path = std::filesystem::path(uri.path).lexically_normal().string();
  } else if (uri.authority.empty()) {
    return Status::Invalid("the URI names no host or bucket: " + RedactUri(text));
  }
  return uri;
}

std::string Uri::ToString() const { return scheme + "://" + authority + path; }

std::string RedactUri(std::string_view text) {
  size_t mark = text.find("://");
  if (mark == text.npos || !IsScheme(text.substr(0, mark))) return std::string(text);
  size_t host = mark + 3;
  size_t query = std::min(text.find('?', host), text.size());
  std::string_view place = text.substr(host, query - host);
  return std::string(text.substr(0, host)) +
         std::string(place.substr(CredentialsSize(place))) +
         WithoutValues(text.substr(query));
}

}  // namespace forebay
