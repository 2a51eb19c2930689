// file:// — local and mounted file systems. An object's identity is its size, mtime,
// ctime and inode, checked on the open descriptor before and after every read.
#pragma once

#include <string>
#include <vector>

#include "source/source.h"

namespace forebay::source {

class FileSource : public Source {
 public:
  // Regular files at or below `uri`, hidden ones included. Symbolic links are followed;
  // a link back to a folder above it is left out, a broken link is an error.
  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;
};

}  // namespace forebay::source
