#include "source/file_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <string_view>
#include <utility>

#include "base/errno_status.h"
#include "source/identity.h"
#include "source/tree_walk.h"

namespace forebay::source {
namespace {

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Directory = std::unique_ptr<DIR, CloseDir>;

Result<Directory> OpenDirectory(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "open folder " + path);
  DIR* dir = ::fdopendir(fd);
  if (dir != nullptr) return Directory(dir);
  Status status = ErrnoStatus(errno, "open folder " + path);
  ::close(fd);
  return status;
}

bool IsAbove(const Folder* folder, const struct stat& st) {
  for (; folder != nullptr; folder = folder->above.get()) {
    if (folder->device == st.st_dev && folder->inode == st.st_ino) return true;
  }
  return false;
}

Folder FolderAt(std::string path, const struct stat& st) {
  return {.name = std::move(path), .device = st.st_dev, .inode = st.st_ino};
}

void AddFile(const std::string& path, const struct stat& st, Tree* tree) {
  tree->objects.push_back({"file://" + path, FileIdentity(st)});
}

// One folder, entry by entry.
class FolderLister {
 public:
  FolderLister(const Folder& folder, Links links, Deadline deadline)
      : folder_(folder), links_(links), deadline_(deadline) {}

  Result<Listed> Run() {
    const std::string& path = folder_.name;
    FB_ASSIGN_OR_RETURN(Directory dir, OpenDirectory(path));
    std::string prefix = path.ends_with('/') ? path : path + "/";
    for (;;) {
      if (deadline_.passed()) return DeadlineStatus("listing " + path);
      errno = 0;
      const dirent* entry = ::readdir(dir.get());
      if (entry == nullptr && errno != 0) return ErrnoStatus(errno, "list " + path);
      if (entry == nullptr) break;
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      FB_RETURN_NOT_OK(Entry(::dirfd(dir.get()), entry->d_name, prefix));
    }
    bool empty =
        out_.tree.objects.empty() && out_.tree.links.empty() && out_.folders.empty();
    if (empty && folder_.depth > 0) out_.tree.empty_folders.push_back("file://" + path);
    return std::move(out_);
  }

 private:
  Status Entry(int dir, const char* name, const std::string& prefix) {
    std::string path = prefix + name;
    struct stat st;
    int flags = links_ == Links::kKeep ? AT_SYMLINK_NOFOLLOW : 0;
    if (::fstatat(dir, name, &st, flags) != 0) {
      return CannotFollow(dir, name, path, errno);
    }
    if (S_ISLNK(st.st_mode)) return AddLink(dir, path, st);
    if (S_ISREG(st.st_mode)) AddFile(path, st, &out_.tree);
    // A link to a folder above: its files are listed already.
    bool below = S_ISDIR(st.st_mode) && !IsAbove(&folder_, st);
    if (below) out_.folders.push_back(FolderAt(std::move(path), st));
    return Status::OK();
  }

  Status AddLink(int dir, const std::string& path, const struct stat& st) {
    char target[PATH_MAX];
    const char* name = path.c_str() + path.rfind('/') + 1;
    ssize_t size = ::readlinkat(dir, name, target, sizeof(target));
    // Removed, or something else by now, which the next listing has.
    if (size < 0 && (errno == ENOENT || errno == EINVAL)) return Status::OK();
    if (size < 0) return ErrnoStatus(errno, "read the link " + path);
    out_.tree.links.push_back({.uri = "file://" + path,
                               .target = std::string(target, static_cast<size_t>(size)),
                               .mtime_ns = FileIdentity(st).mtime_ns});
    return Status::OK();
  }

  // Removed since it was read from the folder, or a link that leads nowhere.
  Status CannotFollow(int dir, const char* name, const std::string& path, int error) {
    struct stat st;
    bool gone = ::fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
    if (gone) return Status::OK();
    // A link that points to itself, alone or in a ring, holds no files.
    if (error == ELOOP) return Status::OK();
    return ErrnoStatus(error, "follow " + path);
  }

  const Folder& folder_;
  const Links links_;
  const Deadline deadline_;
  Listed out_;
};

}  // namespace

Result<Tree> WalkTree(const std::string& path, Links links, Deadline deadline) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  if (S_ISDIR(st.st_mode)) {
    return WalkFolders(FolderAt(path, st), [&](const FolderPtr& folder) {
      return FolderLister(*folder, links, deadline).Run();
    });
  }
  if (!S_ISREG(st.st_mode)) {
    return Status::Invalid(path + " is neither a file nor a folder");
  }
  Tree tree;
  AddFile(path, st, &tree);
  return tree;
}

Result<std::vector<model::Object>> WalkFiles(const std::string& path, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Tree tree, WalkTree(path, Links::kFollow, deadline));
  return std::move(tree.objects);
}

}  // namespace forebay::source
