#include "model/source_options.h"

#include <algorithm>

namespace forebay::model {

bool IsSourceOption(std::string_view name) {
  auto in = [name](const auto& names) {
    return std::ranges::find(names, name) != std::end(names);
  };
  return in(kS3Options) || in(kAwsOptions) || in(kGcsOptions) || in(kAdlsOptions) ||
         in(kHdfsOptions);
}

}  // namespace forebay::model
