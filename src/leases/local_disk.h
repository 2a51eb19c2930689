// Whether a path lies on a disk of this host. SQLite's locks cannot be trusted on network
// file systems, so leases are kept on none.
#pragma once

#include <string>

#include "base/status.h"

namespace forebay::leases {

// kUnsupported, with advice, when the folder of `path` is on another machine's disk.
Status RequireLocalDisk(const std::string& path);

}  // namespace forebay::leases
