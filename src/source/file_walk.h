// The regular files below a local folder.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/object.h"

namespace forebay::source {

// Files at or below `path`, sorted by uri. A folder or link that cannot be followed is an
// error that names it; what vanishes during the walk is left out.
Result<std::vector<model::Object>> WalkFiles(const std::string& path, Deadline deadline);

}  // namespace forebay::source
