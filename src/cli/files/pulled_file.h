// One file that is pulled to a local name. Which object it is a copy of stands in an
// extended attribute, where the file system has them.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "reader/files/remote_files.h"

namespace forebay::cli {

// Whether the file at `path` is the only file of the tree already, untouched since.
bool IsCopyOf(const reader::RemoteFiles& files, const std::string& path);
// Makes it so: `write` appends its bytes. Nobody sees a part of it.
Status CopyOne(const reader::RemoteFiles& files, const std::string& path,
               const std::function<Status(int fd)>& write);

}  // namespace forebay::cli
