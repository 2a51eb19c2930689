// Whether a path lies on a disk of this host. SQLite's locks cannot be trusted on network
// file systems, so leases are kept on none.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace forebay::leases {

// What statfs's f_type stands for when the file system is, or may be, on other machines;
// null for those of this host.
const char* RemoteFileSystemName(uint64_t magic);

// kUnsupported, with advice, when the folder of `path` is on another machine's disk.
Status RequireLocalDisk(const std::string& path);

}  // namespace forebay::leases
