// Paths in metadata are untrusted: which of them may be read, and where they are now.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::table::iceberg {

struct LocationOptions {
  std::map<std::string, std::string> remap{};  // prefix → prefix, the longest match first
  std::vector<std::string> allowed{};          // further prefixes the user trusts
};

class Locations {
 public:
  // `metadata_uri`: where the metadata file was read from. Its scheme and authority
  // (bucket, host) are the table's own; s3, s3a and s3n are one scheme.
  static Result<Locations> Make(const std::string& metadata_uri, LocationOptions options);

  // The canonical URI of a path in metadata: remapped, "file:/x", "/x" and "s3a://" made
  // plain, relative paths refused unless a remap covers them, no "..". kPermission when
  // it leaves the table's scheme and bucket and no allowed prefix covers it.
  Result<std::string> Resolve(std::string_view path) const;

 private:
  std::string scheme_;
  std::string authority_;
  LocationOptions options_;
};

}  // namespace forebay::table::iceberg
