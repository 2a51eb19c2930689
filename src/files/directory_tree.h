// The directories that a listing names or its paths make, numbered breadth first, so that
// the directories of one directory follow each other by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "files/file_list.h"

namespace forebay::files {

struct Directory {
  std::string_view path;  // into the list
  uint32_t parent = 0;
  uint32_t first_directory = 0;
  uint32_t directory_count = 0;
};

struct DirectoryTree {
  std::vector<Directory> directories;  // 0 is the root
  std::vector<uint32_t> of_file;       // the directory of each entry of the list
};

// `list` is sorted. A file that is also a directory is left out of it: `a` beside `a/b`.
DirectoryTree MakeDirectoryTree(FileList* list);

}  // namespace forebay::files
