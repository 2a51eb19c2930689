#include "reader/files/link_pool.h"

#include <new>

namespace forebay::reader {

Result<LinkPool::Lent> LinkPool::Take(Deadline deadline) {
  std::unique_ptr<FilesLink> link;
  {
    std::unique_lock lock(mutex_);
    auto is_free = [&] {
      bool brisk = deadline.Remaining() <= kBriskTime;
      return lent_count_ < kPatientMax + (brisk ? kBriskMax : 0) &&
             (!idle_.empty() || count_ < kPatientMax + kBriskMax);
    };
    if (!returned_.wait_for(lock, deadline.Remaining(), is_free)) {
      return Status::Deadline(
          "too many files wait for the source; give a longer timeout or look at the "
          "source");
    }
    ++lent_count_;
    if (idle_.empty()) {
      ++count_;
    } else {
      link = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (link == nullptr) link = std::make_unique<FilesLink>(node_);
  link->Poll();
  return Lent(this, std::move(link));
}

void LinkPool::TakeBack(std::unique_ptr<FilesLink> link) {
  {
    std::lock_guard lock(mutex_);
    --lent_count_;
    idle_.push_back(std::move(link));
  }
  returned_.notify_all();  // not all of them wait for the same
}

void LinkPool::Poll() {
  std::vector<std::unique_ptr<FilesLink>> idle;
  {
    std::lock_guard lock(mutex_);
    idle.swap(idle_);
  }
  for (auto& link : idle) link->Poll();
  {
    std::lock_guard lock(mutex_);
    for (auto& link : idle) idle_.push_back(std::move(link));
  }
  returned_.notify_all();
}

bool LinkPool::is_busy() {
  std::lock_guard lock(mutex_);
  return lent_count_ >= kPatientMax;
}

size_t LinkPool::count() {
  std::lock_guard lock(mutex_);
  return count_;
}

void LinkPool::AfterFork() {
  new (&mutex_) std::mutex;
  new (&returned_) std::condition_variable;
  lent_count_ = 0;
  count_ = idle_.size();
  for (auto& link : idle_) link->Abandon();
}

}  // namespace forebay::reader
