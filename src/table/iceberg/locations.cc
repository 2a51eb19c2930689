#include "table/iceberg/locations.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/uri.h"

namespace forebay::table::iceberg {
namespace {

bool IsAzure(std::string_view scheme) { return scheme == "abfs" || scheme == "abfss"; }

// As one text, for comparing prefixes: "file:///x", "s3://b/k", "relative".
std::string Plain(std::string_view text) {
  UriParts place = SplitUri(text);
  if (place.scheme.empty()) {
    return place.is_relative() ? place.path : "file://" + place.path;
  }
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

}  // namespace

Result<Locations> Locations::Make(const std::string& metadata_uri,
                                  LocationOptions options) {
  Locations locations;
  FB_ASSIGN_OR_RETURN(Uri uri, Uri::Parse(metadata_uri));
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
  UriParts place = SplitUri(path);
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
  UriParts parts = SplitUri(plain);
  if (ClimbsUp({parts.scheme, parts.authority, parts.path})) {
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
