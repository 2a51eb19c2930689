#include "table/iceberg/locations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/uri.h"

namespace forebay::table::iceberg {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return out;
}

// How long the scheme before a ':' is; 0: there is none.
size_t SchemeSize(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == text.npos || colon == 0) return 0;
  if (std::isalpha(static_cast<unsigned char>(text[0])) == 0) return 0;
  bool valid = std::ranges::all_of(text.substr(0, colon), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  });
  return valid && text.substr(colon + 1).starts_with('/') ? colon : 0;
}

// Several names of one thing become one name.
std::string_view SchemeName(std::string_view scheme) {
  if (scheme == "s3a" || scheme == "s3n") return "s3";
  if (scheme == "local") return "file";
  return scheme;
}

bool IsAzure(std::string_view scheme) { return scheme == "abfs" || scheme == "abfss"; }

struct Place {
  std::string scheme;  // empty: relative, or a path that says none
  std::string authority;
  std::string path;
};

// Takes "file:/x", "file:///x", "s3a://b/k", "/x" and "x" apart; nothing is decoded.
Place Split(std::string_view text) {
  Place place;
  size_t size = SchemeSize(text);
  if (size == 0) {
    place.path = text;
    return place;
  }
  place.scheme = SchemeName(Lower(text.substr(0, size)));
  text.remove_prefix(size + 1);
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    size_t slash = std::min(text.find('/'), text.size());
    place.authority = text.substr(0, slash);
    text.remove_prefix(slash);
  }
  place.path = text;
  return place;
}

// As one text, for comparing prefixes: "file:///x", "s3://b/k", "relative".
std::string Plain(std::string_view text) {
  Place place = Split(text);
  if (place.scheme.empty()) {
    return place.path.starts_with('/') ? "file://" + place.path : place.path;
  }
  if (place.scheme == "file" && place.authority == "localhost") place.authority.clear();
  return place.scheme + "://" + place.authority + place.path;
}

// Without slashes at its end, but never shorter than "scheme://".
std::string PlainPrefix(std::string_view text) {
  std::string plain = Plain(text);
  size_t mark = plain.find("://");
  size_t least = mark == plain.npos ? 0 : mark + 3;
  while (plain.size() > least && plain.back() == '/') plain.pop_back();
  return plain;
}

bool HasPrefix(std::string_view plain, std::string_view prefix) {
  if (!plain.starts_with(prefix)) return false;
  std::string_view rest = plain.substr(prefix.size());
  return rest.empty() || rest.starts_with('/') || prefix.ends_with('/');
}

// What stands behind the prefix; an empty one covers relative paths only.
std::optional<std::string> AfterPrefix(std::string_view plain, std::string_view prefix) {
  if (prefix.empty()) {
    if (plain.find("://") != plain.npos) return std::nullopt;
    return "/" + std::string(plain);
  }
  if (!HasPrefix(plain, prefix)) return std::nullopt;
  return std::string(plain.substr(prefix.size()));
}

bool ClimbsUp(std::string_view path) {
  while (true) {
    size_t slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return true;
    if (slash == path.size()) return false;
    path.remove_prefix(slash + 1);
  }
}

// A server may take "%2e" for a dot.
bool ClimbsUpOnTheWeb(std::string_view path) {
  std::string lower = Lower(path);
  for (size_t at; (at = lower.find("%2e")) != lower.npos;) lower.replace(at, 3, ".");
  return ClimbsUp(lower);
}

}  // namespace

Result<Locations> Locations::Make(const std::string& metadata_uri,
                                  LocationOptions options) {
  Locations locations;
  Place place = Split(metadata_uri);
  FB_ASSIGN_OR_RETURN(
      Uri uri, Uri::Parse(place.scheme.empty() ? metadata_uri : Plain(metadata_uri)));
  locations.scheme_ = uri.scheme;
  locations.authority_ = uri.authority;
  for (const auto& [from, to] : options.remap) {
    if (to.empty()) {
      return Status::Invalid("remap maps a place to nothing: from=" + RedactUri(from));
    }
    locations.options_.remap[PlainPrefix(from)] = PlainPrefix(to);
  }
  for (const std::string& prefix : options.allowed) {
    locations.options_.allowed.push_back(PlainPrefix(prefix));
  }
  return locations;
}

Result<std::string> Locations::Resolve(std::string_view path) const {
  if (path.empty() || path.find('\0') != path.npos) {
    return Status::Corrupt("the table's metadata holds an empty or unusable path");
  }
  Place place = Split(path);
  if (place.scheme.empty() && place.path.starts_with('/') && scheme_ == "hdfs") {
    place.scheme = scheme_;  // old writers leave the file system out
  }
  if (place.scheme == "hdfs" && scheme_ == "hdfs" && place.authority.empty()) {
    place.authority = authority_;
  }
  // With and without TLS, it is one place; the table's own way is taken.
  if (IsAzure(place.scheme) && IsAzure(scheme_)) place.scheme = scheme_;
  std::string plain = place.scheme.empty()
                          ? Plain(path)
                          : Plain(place.scheme + "://" + place.authority + place.path);
  if (ClimbsUp(plain) || (plain.starts_with("http") && ClimbsUpOnTheWeb(plain))) {
    return Status::Permission(
        "a path in the table's metadata climbs up with \"..\", which is not followed: "
        "path=" +
        RedactUri(path));
  }
  const std::pair<const std::string, std::string>* best = nullptr;
  for (const auto& entry : options_.remap) {
    bool longer = best == nullptr || entry.first.size() > best->first.size();
    if (longer && AfterPrefix(plain, entry.first)) best = &entry;
  }
  if (best != nullptr) {
    FB_ASSIGN_OR_RETURN(Uri uri,
                        Uri::Parse(best->second + *AfterPrefix(plain, best->first)));
    return uri.ToString();
  }
  if (plain.find("://") == plain.npos) {
    return Status::Corrupt(
        "a path in the table's metadata is relative; give a remap for it: path=" + plain);
  }
  FB_ASSIGN_OR_RETURN(Uri uri, Uri::Parse(plain));
  if (uri.scheme == scheme_ && uri.authority == authority_) return uri.ToString();
  for (const std::string& prefix : options_.allowed) {
    if (HasPrefix(plain, prefix)) return uri.ToString();
  }
  return Status::Permission(
      fmt::format("a path in the table's metadata leaves the table's own place: path={} "
                  "table={}://{}; "
                  "if you trust it, allow its prefix, or remap it",
                  RedactUri(path), scheme_, authority_));
}

}  // namespace forebay::table::iceberg
