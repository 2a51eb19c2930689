// Which places a process may read, as it was started with (--allow).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace forebay::model {

class AllowedPlaces {
 public:
  // Everything at or below one of these prefixes, however they are spelled; without any,
  // everything.
  explicit AllowedPlaces(const std::vector<std::string>& prefixes = {});

  // kPermission when the place is below none of them.
  Status Check(const std::string& uri) const;
  // Also the servers that options name: a catalog's own address, and where its tokens
  // come from.
  Status Check(const std::string& uri,
               const std::map<std::string, std::string>& options) const;

 private:
  std::vector<std::string> prefixes_;
};

}  // namespace forebay::model
