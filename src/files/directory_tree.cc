#include "files/directory_tree.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace forebay::files {
namespace {

std::string_view ParentPath(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

struct Found {
  std::string_view path;
  uint32_t parent;
  std::vector<uint32_t> children;
};

// Directories in the order in which they are met.
class Finder {
 public:
  Finder() { found_.push_back({}); }

  uint32_t Find(std::string_view path) {
    if (path.empty()) return 0;
    if (auto known = by_path_.find(path); known != by_path_.end()) return known->second;
    uint32_t parent = Find(ParentPath(path));
    auto id = static_cast<uint32_t>(found_.size());
    found_.push_back({path, parent, {}});
    found_[parent].children.push_back(id);
    by_path_.emplace(path, id);
    return id;
  }
  bool Has(std::string_view path) const { return by_path_.contains(path); }

  // Numbers of the tree by numbers of ours.
  std::vector<uint32_t> Number(DirectoryTree* tree) {
    std::vector<uint32_t> number(found_.size());
    std::vector<uint32_t> order = {0};
    tree->directories.push_back({});
    for (uint32_t i = 0; i < order.size(); ++i) {
      Found& directory = found_[order[i]];
      std::ranges::sort(directory.children, {},
                        [this](uint32_t child) { return found_[child].path; });
      tree->directories[i].first_directory = static_cast<uint32_t>(order.size());
      tree->directories[i].directory_count =
          static_cast<uint32_t>(directory.children.size());
      for (uint32_t child : directory.children) {
        number[child] = static_cast<uint32_t>(order.size());
        order.push_back(child);
        tree->directories.push_back({.path = found_[child].path, .parent = i});
      }
    }
    return number;
  }

 private:
  std::vector<Found> found_;
  std::unordered_map<std::string_view, uint32_t> by_path_;
};

}  // namespace

DirectoryTree MakeDirectoryTree(FileList* list) {
  Finder finder;
  for (const FileList::Entry& entry : list->entries()) {
    finder.Find(ParentPath(list->path(entry)));
  }
  for (const std::string& folder : list->folders()) finder.Find(folder);
  std::optional<std::string_view> last;
  list->Erase([&](const FileList::Entry& entry) {
    std::string_view path = list->path(entry);
    if (last == path) {
      list->LeaveOut(path, "it was listed twice");
      return true;
    }
    last = path;
    if (!finder.Has(path)) return false;
    list->LeaveOut(path, "there are objects below it, so it is a folder here");
    return true;
  });
  DirectoryTree tree;
  std::vector<uint32_t> number = finder.Number(&tree);
  tree.of_file.reserve(list->size());
  for (const FileList::Entry& entry : list->entries()) {
    tree.of_file.push_back(number[finder.Find(ParentPath(list->path(entry)))]);
  }
  return tree;
}

}  // namespace forebay::files
