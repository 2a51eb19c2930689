// Walks a tree of folders with a few threads, each of which lists one folder at a time;
// and what is below a local folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/object.h"
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

// Regular files at or below `path`, sorted by uri. Links are followed. A folder or link
// that cannot be followed is an error that names it; what vanishes during the walk is
// left out.
Result<std::vector<model::Object>> WalkFiles(const std::string& path, Deadline deadline);

// The same, and folders with nothing else in them. Links below `path` are followed too,
// or kept as they are, wherever they lead; `path` itself may be one.
enum class Links { kFollow, kKeep };
Result<Tree> WalkTree(const std::string& path, Links links, Deadline deadline);

}  // namespace forebay::source
