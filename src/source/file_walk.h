// What is below a local folder.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/object.h"
#include "source/source.h"

namespace forebay::source {

// Regular files at or below `path`, sorted by uri. Links are followed. A folder or link
// that cannot be followed is an error that names it; what vanishes during the walk is
// left out.
Result<std::vector<model::Object>> WalkFiles(const std::string& path, Deadline deadline);

// The same, and folders with nothing else in them. Links below `path` are followed too,
// or kept as they are, wherever they lead; `path` itself may be one.
enum class Links { kFollow, kKeep };
Result<Tree> WalkTree(const std::string& path, Links links, Deadline deadline);

}  // namespace forebay::source
