// Trees of files that are old enough to be read at once: a young file is waited for
// (docs/adr/0005), which a test can afford once.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "support/subprocess.h"

namespace forebay::testing_support {

// A folder with one file "a" of that content. The same one for the same content as long
// as this process lives, so that only its first reader waits.
inline std::string AgedTree(const std::string& content) {
  static std::map<std::string, std::unique_ptr<TempFolder>> trees;
  auto& tree = trees[content];
  if (tree == nullptr) {
    tree = std::make_unique<TempFolder>();
    std::filesystem::path file = tree->path() + "/a";
    std::ofstream(file) << content;
    std::filesystem::last_write_time(
        file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  return tree->path();
}

// Makes `link` lead to that tree, in place of another: a source whose content changes.
inline void PointTo(const std::string& link, const std::string& tree) {
  std::filesystem::remove(link);
  std::filesystem::create_directory_symlink(tree, link);
}

}  // namespace forebay::testing_support
