#include "table/files/footer_cache.h"

namespace forebay::table {

std::shared_ptr<const Footer> FooterCache::Find(const Hash128& key) {
  std::lock_guard lock(mutex_);
  auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->footer;
}

void FooterCache::Put(const Hash128& key, std::shared_ptr<const Footer> footer,
                      uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > capacity_bytes_ || index_.contains(key)) return;
  entries_.push_front({key, std::move(footer), bytes});
  index_[key] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > capacity_bytes_) {
    bytes_ -= entries_.back().bytes;
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace forebay::table
