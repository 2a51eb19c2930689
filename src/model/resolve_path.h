// Where a path of a tree leads when its links are followed, as a kernel would do it, but
// never out of the tree.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/files_manifest.h"

namespace forebay::model {

struct ResolvedPath {
  enum class Kind {
    kFile,  // or a link, where the last one is not to be followed
    kDirectory,
    kMissing,
    kOutside,  // a link leads out of the tree
    kLoop,     // more than 40 links
  };
  Kind kind = Kind::kMissing;
  uint32_t index = 0;  // of the file or directory
};

enum class LastLink { kFollow, kKeep };

// `path` is relative to the root and has no parts that are "." or ".."; targets may.
// An absolute target is one below the root's own place, or outside.
ResolvedPath ResolvePath(const FilesManifest& manifest, std::string_view path,
                         LastLink last = LastLink::kFollow);

}  // namespace forebay::model
