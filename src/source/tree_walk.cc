#include "source/tree_walk.h"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

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
  // ones.
  void AddThreads() {
    for (size_t i = 1; i < waiting_.size() && i < kThreadsMax; ++i) {
      if (i > threads_.size()) threads_.emplace_back([this] { Work(); });
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

}  // namespace

Result<Tree> WalkFolders(Folder first, const ListFolder& list) {
  return Walk(list).Run(std::move(first));
}

}  // namespace forebay::source
