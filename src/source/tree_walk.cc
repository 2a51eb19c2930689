#include "source/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/errno_status.h"
#include "base/start_thread.h"
#include "source/identity.h"

namespace forebay::source {
namespace {

// Enough to hide the round trips of a server of files, and no burden for it.
constexpr size_t kThreadsMax = 8;
// Deeper than any data set; stops walks that links make endless in practice.
constexpr size_t kDepthMax = 128;

template <typename T>
void MoveTo(std::vector<T>* all, std::vector<T>&& some) {
  if (all->empty()) return all->swap(some);
  all->insert(all->end(), std::move_iterator(some.begin()),
              std::move_iterator(some.end()));
}

class Walk {
 public:
  explicit Walk(const ListFolder& list) : list_(list) {}

  Result<Tree> Run(Folder first) {
    waiting_.push_back(std::make_shared<const Folder>(std::move(first)));
    Work();
    for (std::thread& thread : threads_) thread.join();  // none starts any more
    FB_RETURN_NOT_OK(status_);
    std::ranges::sort(tree_.objects, {}, &model::Object::uri);
    std::ranges::sort(tree_.links, {}, &Link::uri);
    std::ranges::sort(tree_.empty_folders);
    return std::move(tree_);
  }

 private:
  bool done() const { return !status_.ok() || (waiting_.empty() && running_ == 0); }

  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return done() || !waiting_.empty(); });
      if (done()) break;
      FolderPtr folder = std::move(waiting_.back());
      waiting_.pop_back();
      ++running_;
      lock.unlock();
      Result<Listed> listed = List(folder);
      lock.lock();
      --running_;
      Take(folder, std::move(listed));
    }
    wake_.notify_all();
  }

  Result<Listed> List(const FolderPtr& folder) {
    if (folder->depth <= kDepthMax) return list_(folder);
    return Status::Unsupported("folders are nested deeper than " +
                               std::to_string(kDepthMax) + ": " + folder->name);
  }

  void Take(const FolderPtr& folder, Result<Listed> listed) {
    if (!status_.ok()) return;
    if (!listed.ok()) {
      bool gone = folder->depth > 0 && listed.status().code() == StatusCode::kNotFound;
      if (!gone) status_ = listed.status();
      return;
    }
    MoveTo(&tree_.objects, std::move(listed->tree.objects));
    MoveTo(&tree_.links, std::move(listed->tree.links));
    MoveTo(&tree_.empty_folders, std::move(listed->tree.empty_folders));
    for (Folder& below : listed->folders) {
      below.above = folder;
      below.depth = folder->depth + 1;
      waiting_.push_back(std::make_shared<const Folder>(std::move(below)));
    }
    AddThreads();
  }

  // This thread takes one of the folders; the others are for those that wait, or for new
  // ones. Where no more threads can be started, those that run do it all.
  void AddThreads() {
    while (threads_.size() + 1 < std::min(waiting_.size(), kThreadsMax)) {
      auto thread = StartThread([this] { Work(); });
      if (!thread.ok()) break;
      threads_.push_back(*std::move(thread));
    }
    if (waiting_.size() > 1) wake_.notify_all();
  }

  const ListFolder& list_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<FolderPtr> waiting_;
  size_t running_ = 0;
  Status status_;
  Tree tree_;
  std::vector<std::thread> threads_;
};

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
    // A link that took the place of the folder may lead anywhere.
    struct stat st {};
    bool same = ::fstat(::dirfd(dir.get()), &st) == 0 && st.st_dev == folder_.device &&
                st.st_ino == folder_.inode;
    if (folder_.depth > 0 && !same) return Status::NotFound(path + " was replaced");
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

Result<Tree> WalkFolders(Folder first, const ListFolder& list) {
  return Walk(list).Run(std::move(first));
}

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
