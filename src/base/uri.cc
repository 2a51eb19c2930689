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

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return out;
}

// Several names of one thing become one name.
std::string SchemeName(std::string_view text) {
  std::string scheme = Lower(text);
  if (scheme == "s3a" || scheme == "s3n") return "s3";
  return scheme == "local" ? "file" : scheme;
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

UriParts SplitUri(std::string_view text) {
  UriParts parts;
  size_t colon = text.find(':');
  bool has_scheme = colon != text.npos && IsScheme(text.substr(0, colon)) &&
                    text.substr(colon + 1).starts_with('/');
  if (!has_scheme) {
    parts.path = text;
    return parts;
  }
  parts.scheme = SchemeName(text.substr(0, colon));
  text.remove_prefix(colon + 1);
  // Hadoop, and so the metadata of many Iceberg tables, writes "file:/x".
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    size_t slash = std::min(text.find('/'), text.size());
    parts.authority = text.substr(0, slash);
    text.remove_prefix(slash);
  }
  if (parts.scheme == "file" && Lower(parts.authority) == "localhost") {
    parts.authority.clear();
  }
  parts.path = text;
  return parts;
}

Result<Uri> Uri::Parse(std::string_view text) {
  if (text.empty()) return Status::Invalid("the URI is empty: give a path or a URI");
  if (text.find('\0') != text.npos) return Status::Invalid("the URI contains a NUL byte");
  UriParts parts = SplitUri(text);
  Uri uri{std::move(parts.scheme), std::move(parts.authority), std::move(parts.path)};
  if (uri.scheme.empty()) {
    uri.scheme = "file";
    std::error_code error;
    auto absolute = std::filesystem::absolute(uri.path, error);
    if (error) return Status::Invalid("not a usable path: " + std::string(text));
    uri.path = absolute.lexically_normal().string();
    return uri;
  }
  if (uri.scheme != "file") {
    if (!uri.authority.empty()) return uri;
    return Status::Invalid("the URI names no host or bucket, write " + uri.scheme +
                           "://name/path: " + RedactUri(text));
  }
  if (!uri.authority.empty()) {
    return Status::Invalid("a file URI names no host, write file:///path: " +
                           RedactUri(text));
  }
  // "file://" is as good as "file:///".
  if (uri.path.empty()) uri.path = "/";
  // POSIX lets "//x" mean another place than "/x"; Linux does not.
  uri.path.erase(0, uri.path.find_first_not_of('/'));
  uri.path = std::filesystem::path("/" + uri.path).lexically_normal().string();
  return uri;
}

bool ClimbsUp(const Uri& uri) {
  std::string path = uri.path;
  if (uri.scheme.starts_with("http")) {
    path = Lower(path);
    for (size_t at; (at = path.find("%2e")) != path.npos;) path.replace(at, 3, ".");
  }
  return ("/" + path + "/").find("/../") != path.npos;
}

bool SamePlace(std::string_view a, std::string_view b) {
  if (a == b) return true;
  auto one = Uri::Parse(a);
  auto other = Uri::Parse(b);
  if (!one.ok() || !other.ok()) return false;
  while (one->path.ends_with('/')) one->path.pop_back();
  while (other->path.ends_with('/')) other->path.pop_back();
  return one->ToString() == other->ToString();
}

Status CheckNotRelative(std::string_view text) {
  if (!SplitUri(text).is_relative()) return Status::OK();
  return Status::Invalid('"' + RedactUri(text) +
                         "\" is a relative path: give an absolute one, or a URI");
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
