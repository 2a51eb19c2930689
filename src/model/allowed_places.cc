#include "model/allowed_places.h"

#include <fmt/format.h>

#include "base/uri.h"

namespace forebay::model {

Status AllowedPlaces::Check(const std::string& uri) const {
  if (prefixes_.empty()) return Status::OK();
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  std::string place = parsed.ToString();
  bool escapes = place.find("/../") != place.npos || place.ends_with("/..");
  for (const std::string& prefix : prefixes_) {
    if (!escapes && place.starts_with(prefix)) return Status::OK();
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
