// The YAML of configuration files: blocks of "key: text" by indentation, quotes, comments
// and block texts. What strictyaml refuses (flow style, anchors, tags) is refused here
// too. Lists are passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::reader {

struct YamlEntry {
  std::vector<std::string> path;  // the keys from the outermost in
  std::string text;               // as it is written: "true", "17"
};

// In the order of the file. kInvalid names the line.
Result<std::vector<YamlEntry>> ParsePlainYaml(std::string_view text);

}  // namespace forebay::reader
