// A place: scheme, authority, path. "/data/x" and "data/x" are file URIs without a
// scheme.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay {

struct Uri {
  std::string scheme;     // lower case, "file" for plain paths
  std::string authority;  // bucket or host:port; empty for files
  std::string path;       // with its leading '/', not percent-decoded

  static Result<Uri> Parse(std::string_view text);
  std::string ToString() const;
};

// The text without user:password@ and without values of query parameters: fit for logs.
std::string RedactUri(std::string_view text);

}  // namespace forebay
