// The keys that equality deletes name, each with the newest delete of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/live_rows.h"
#include "table/live/key_columns.h"

namespace forebay::table::live {

// Add, then Seal, then Kill: from then on thread-safe. A row goes when its key was
// deleted by a later commit than the one that wrote it, so the newest delete decides.
class EqualityIndex {
 public:
  void Add(const KeyColumns& keys, int64_t sequence_number);
  void Seal();

  // False: no delete is newer than the data.
  bool Applies(int64_t data_sequence) const { return newest_ > data_sequence; }
  // Kills the rows of `live` whose keys were deleted after `data_sequence`; the keys'
  // first row is `first_row` there. `live` is materialized.
  void Kill(const KeyColumns& keys, int64_t data_sequence, uint64_t first_row,
            model::LiveRows* live) const;

  uint64_t key_count() const { return used_; }

 private:
  static constexpr int64_t kEmpty = INT64_MIN;

  struct Slot {
    uint64_t hash = 0;
    int64_t newest = kEmpty;  // sequence number
    uint64_t key = 0;         // where it begins in keys_
  };

  void AddOne(uint64_t hash, const std::string* key, int64_t sequence_number);
  Slot& Find(uint64_t hash, const std::string* key);
  const Slot* Find(uint64_t hash, const std::string* key) const;
  bool SameKey(const Slot& slot, const std::string& key) const;
  void Grow();
  bool MayHold(uint64_t hash) const {
    uint64_t wanted = FilterBits(hash);
    return (filter_[(hash >> 24) & filter_mask_] & wanted) == wanted;
  }
  static uint64_t FilterBits(uint64_t hash) {
    return (uint64_t{1} << (hash & 63)) | (uint64_t{1} << ((hash >> 6) & 63)) |
           (uint64_t{1} << ((hash >> 12) & 63)) | (uint64_t{1} << ((hash >> 18) & 63));
  }
  size_t SlotOf(uint64_t hash) const { return (hash >> 20) & (slots_.size() - 1); }

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  uint64_t used_ = 0;
  std::string keys_;              // sizes and bytes, where hashes don't tell keys apart
  std::vector<uint64_t> filter_;  // small enough for a cache: most rows end here
  uint64_t filter_mask_ = 0;
  int64_t newest_ = kEmpty;
  int64_t newest_null_ = kEmpty;  // of null, where hashes are keys
};

}  // namespace forebay::table::live
