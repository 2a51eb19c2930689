// Parsed footers of source files, least recently used ones dropped first.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/hash.h"
#include "base/size.h"

namespace forebay::table {

// What a format keeps of a file's footer. Immutable.
struct Footer {
  virtual ~Footer() = default;
};

// Thread-safe. A footer may allocate from the memory pool it was read with, so that pool
// must outlive the cache. The key is the object's content hash, so a changed file is
// another entry.
class FooterCache {
 public:
  explicit FooterCache(uint64_t capacity_bytes = 64 * kMiB)
      : capacity_bytes_(capacity_bytes) {}

  std::shared_ptr<const Footer> Find(const Hash128& key);
  void Put(const Hash128& key, std::shared_ptr<const Footer> footer, uint64_t bytes);

 private:
  struct Entry {
    Hash128 key;
    std::shared_ptr<const Footer> footer;
    uint64_t bytes;
  };

  const uint64_t capacity_bytes_;
  std::mutex mutex_;
  uint64_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Hash128, std::list<Entry>::iterator> index_;
};

}  // namespace forebay::table
