#include "model/allowed_places.h"

#include <fmt/format.h>

#include "base/uri.h"

namespace forebay::model {
namespace {

// Without slashes at its end, but never shorter than "scheme://".
std::string PlainPrefix(const std::string& text) {
  UriParts parts = SplitUri(text);
  auto uri = Uri::Parse(text);
  // "s3://" and "https://" name no place of their own: all of that scheme.
  std::string plain = uri.ok() ? uri->ToString() : parts.scheme + "://";
  size_t least = plain.find("://") + 3;
  while (plain.size() > least && plain.back() == '/') plain.pop_back();
  return plain;
}

bool IsBelow(std::string_view place, std::string_view prefix) {
  if (!place.starts_with(prefix)) return false;
  std::string_view rest = place.substr(prefix.size());
  return rest.empty() || rest.starts_with('/') || prefix.ends_with("://");
}

}  // namespace

AllowedPlaces::AllowedPlaces(const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) prefixes_.push_back(PlainPrefix(prefix));
}

Status AllowedPlaces::Check(const std::string& uri) const {
  if (prefixes_.empty()) return Status::OK();
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  std::string place = parsed.ToString();
  for (const std::string& prefix : prefixes_) {
    if (!ClimbsUp(parsed) && IsBelow(place, prefix)) return Status::OK();
  }
  return Status::Permission(fmt::format(
      "this process may not read {}: it is not below any place that it was started with "
      "(--allow)",
      RedactUri(uri)));
}

Status AllowedPlaces::Check(const std::string& uri,
                            const std::map<std::string, std::string>& options) const {
  FB_RETURN_NOT_OK(Check(uri));
  for (const char* name : {"uri", "oauth2-server-uri"}) {
    auto found = options.find(name);
    if (found != options.end()) FB_RETURN_NOT_OK(Check(found->second));
  }
  return Status::OK();
}

}  // namespace forebay::model
