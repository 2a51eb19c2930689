// A place: scheme, authority, path. Every surface takes places through this parser, so
// that one spelling means one place everywhere.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay {

// A place as it is written: "file:/x", "file:///x", "s3a://b/k", "/x", "x". Nothing is
// decoded or made absolute.
struct UriParts {
  std::string scheme;     // lower case; "s3" for s3a and s3n, "file" for local; or empty
  std::string authority;  // empty where the text has none; never localhost for a file
  std::string path;

  bool is_relative() const { return scheme.empty() && !path.starts_with('/'); }
};
UriParts SplitUri(std::string_view text);

struct Uri {
  std::string scheme;     // lower case, "file" for plain paths, "s3" for s3a and s3n
  std::string authority;  // bucket or host:port; empty for files
  std::string path;       // with its leading '/', not percent-decoded

  // Relative paths start at this process's working directory.
  static Result<Uri> Parse(std::string_view text);
  std::string ToString() const;
};

// True where ".." leads out of the path; on the web also written as "%2e%2e", which a
// server may take for it.
bool ClimbsUp(const Uri& uri);

// True for two spellings of one place. A slash at the end makes no other place.
bool SamePlace(std::string_view a, std::string_view b);

// kInvalid for a relative path. For processes that serve others: it would mean their own
// working directory, which no caller knows.
Status CheckNotRelative(std::string_view text);

// The text without user:password@ and without values of query parameters: fit for logs.
std::string RedactUri(std::string_view text);

}  // namespace forebay
