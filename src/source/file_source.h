// file:// — local and mounted file systems. An object's identity is its size, mtime,
// ctime and inode, checked on the open descriptor before and after every read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/uri.h"
#include "source/source.h"
#include "source/tree_walk.h"

namespace forebay::source {

class FileSource : public Source {
 public:
  // With "file.links" = "follow" trees show what links lead to instead of links.
  static Result<std::shared_ptr<Source>> Make(const Uri& uri, const Options& options);
  explicit FileSource(Links tree_links = Links::kKeep) : tree_links_(tree_links) {}

  // Regular files at or below `uri`, hidden ones included. Symbolic links are followed;
  // a link back to a folder above it is left out, a broken link is an error.
  Result<std::vector<model::Object>> List(const std::string& uri,
                                          Deadline deadline) override;
  Result<Tree> ListTree(const std::string& uri, Deadline deadline) override;
  Result<model::Object> Stat(const std::string& uri, Deadline deadline) override;
  Status Read(const model::Object& object, int64_t offset, std::span<std::byte> into,
              Deadline deadline) override;

 private:
  const Links tree_links_;
};

}  // namespace forebay::source
