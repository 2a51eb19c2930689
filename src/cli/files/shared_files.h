// Files of a tree in a shared directory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "reader/files/remote_files.h"
#include "storage/shared/shared_directory.h"

namespace forebay::cli {

// Opens or makes it; what this host verified is remembered in the user's cache.
Result<std::unique_ptr<storage::SharedDirectory>> OpenShared(const std::string& path,
                                                             bool create);
// The verified file in the directory, brought there through the node if it is missing.
Result<storage::SharedEntry> BringShared(storage::SharedDirectory& shared,
                                         reader::RemoteFiles& files, uint32_t file);

struct SharedCopy {
  reader::RemoteFiles& files;
  uint32_t file = 0;
  std::function<Status(const std::string& path)> from;
  // Where the directory has no room or cannot be written.
  std::function<Status()> without;
};
// The file by way of the directory; a host that evicts it meanwhile does no harm.
Status CopyShared(storage::SharedDirectory& shared, const SharedCopy& copy);

}  // namespace forebay::cli
