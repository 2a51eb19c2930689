// What the kernel must forget when a source moves from one version to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "fuse/filesystem.h"

namespace forebay::fuse {

struct ChangeCounts {
  uint64_t added = 0;
  uint64_t changed = 0;
  uint64_t removed = 0;

  uint64_t total() const { return added + changed + removed; }
};

struct ChangeVisitor {
  // A name that leads somewhere else now, or nowhere, or was not there before.
  std::function<void(uint64_t parent, std::string_view name)> entry;
  // A directory that lists other things, or has other times.
  std::function<void(uint64_t directory)> directory;
};

// Counts files. Directories of the old version that are gone are visited too.
ChangeCounts VisitChanges(const Filesystem& filesystem, uint32_t source,
                          const Generation& before, const Generation& now,
                          const ChangeVisitor& visitor);

}  // namespace forebay::fuse
