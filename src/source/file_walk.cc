#include "source/file_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <string_view>
#include <utility>

#include "base/errno_status.h"
#include "source/identity.h"

namespace forebay::source {
namespace {

// Deeper than any data set; stops walks that links make endless in practice.
constexpr size_t kDepthMax = 128;

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

class Walk {
 public:
  Walk(Links links, Deadline deadline) : links_(links), deadline_(deadline) {}

  Status Folder(const std::string& path, const struct stat& st) {
    std::pair<dev_t, ino_t> self(st.st_dev, st.st_ino);
    // A link to a folder above: its files are listed already.
    if (std::ranges::find(above_, self) != above_.end()) return Status::OK();
    if (above_.size() >= kDepthMax) {
      return Status::Unsupported("folders are nested deeper than " +
                                 std::to_string(kDepthMax) + ": " + path);
    }
    above_.push_back(self);
    size_t before = Count();
    Status status = Entries(path);
    above_.pop_back();
    bool below_root = !above_.empty();
    if (below_root && Count() == before) tree_.empty_folders.push_back("file://" + path);
    return status;
  }

  void AddFile(const std::string& path, const struct stat& st) {
    tree_.objects.push_back({"file://" + path, FileIdentity(st)});
  }

  Tree Take() {
    std::ranges::sort(tree_.objects, {}, &model::Object::uri);
    std::ranges::sort(tree_.links, {}, &Link::uri);
    std::ranges::sort(tree_.empty_folders);
    return std::move(tree_);
  }

 private:
  size_t Count() const {
    return tree_.objects.size() + tree_.links.size() + tree_.empty_folders.size();
  }

  Status Entries(const std::string& path) {
    FB_ASSIGN_OR_RETURN(Directory dir, OpenDirectory(path));
    std::string prefix = path.ends_with('/') ? path : path + "/";
    for (;;) {
      if (deadline_.passed()) return DeadlineStatus("listing " + path);
      errno = 0;
      const dirent* entry = ::readdir(dir.get());
      if (entry == nullptr && errno != 0) return ErrnoStatus(errno, "list " + path);
      if (entry == nullptr) return Status::OK();
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      FB_RETURN_NOT_OK(Entry(::dirfd(dir.get()), entry->d_name, prefix));
    }
  }

  Status Entry(int dir, const char* name, const std::string& prefix) {
    std::string path = prefix + name;
    struct stat st;
    int flags = links_ == Links::kKeep ? AT_SYMLINK_NOFOLLOW : 0;
    if (::fstatat(dir, name, &st, flags) != 0) {
      return CannotFollow(dir, name, path, errno);
    }
    if (S_ISLNK(st.st_mode)) return AddLink(dir, path, st);
    if (S_ISDIR(st.st_mode)) return Folder(path, st);
    if (S_ISREG(st.st_mode)) AddFile(path, st);
    return Status::OK();
  }

  Status AddLink(int dir, const std::string& path, const struct stat& st) {
    char target[PATH_MAX];
    const char* name = path.c_str() + path.rfind('/') + 1;
    ssize_t size = ::readlinkat(dir, name, target, sizeof(target));
    // Removed, or something else by now, which the next listing has.
    if (size < 0 && (errno == ENOENT || errno == EINVAL)) return Status::OK();
    if (size < 0) return ErrnoStatus(errno, "read the link " + path);
    tree_.links.push_back({.uri = "file://" + path,
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

  const Links links_;
  Deadline deadline_;
  std::vector<std::pair<dev_t, ino_t>> above_;
  Tree tree_;
};

}  // namespace

Result<Tree> WalkTree(const std::string& path, Links links, Deadline deadline) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  Walk walk(links, deadline);
  if (S_ISDIR(st.st_mode)) {
    FB_RETURN_NOT_OK(walk.Folder(path, st));
  } else if (S_ISREG(st.st_mode)) {
    walk.AddFile(path, st);
  } else {
    return Status::Invalid(path + " is neither a file nor a folder");
  }
  return walk.Take();
}

Result<std::vector<model::Object>> WalkFiles(const std::string& path, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Tree tree, WalkTree(path, Links::kFollow, deadline));
  return std::move(tree.objects);
}

}  // namespace forebay::source
