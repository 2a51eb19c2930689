// The datasets that a server knows by name: a seam, since a head has them in its metadata
// and a lone node has none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace forebay::flight {

struct NamedDataset {
  std::string name;
  std::string uri;  // what its node opens
  std::map<std::string, std::string> options{};
};

// Thread-safe.
class Datasets {
 public:
  virtual ~Datasets() = default;
  virtual Result<std::vector<NamedDataset>> List() = 0;
  // kNotFound with a sentence that says where names come from.
  virtual Result<NamedDataset> Find(const std::string& name) = 0;
};

}  // namespace forebay::flight
