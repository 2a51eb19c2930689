// Walks a tree of folders with a few threads, each of which lists one folder at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "source/source.h"

namespace forebay::source {

struct Folder;
using FolderPtr = std::shared_ptr<const Folder>;

struct Folder {
  std::string name;   // a path or URI
  FolderPtr above{};  // none: where the walk began
  size_t depth = 0;
  uint64_t device = 0;  // with the inode tells local folders apart
  uint64_t inode = 0;
};

// What is right in a folder.
struct Listed {
  Tree tree;
  std::vector<Folder> folders;
};
using ListFolder = std::function<Result<Listed>(const FolderPtr& folder)>;

// All that is below `first`, sorted by uri however the threads met it. `list` runs on
// several threads at once; its first failure ends the walk, but for a folder below
// `first` that is kNotFound: it was removed meanwhile. Waiting folders are few: a thread
// goes down before it goes on.
Result<Tree> WalkFolders(Folder first, const ListFolder& list);

}  // namespace forebay::source
