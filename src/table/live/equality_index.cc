#include "table/live/equality_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/prefetch.h"

namespace forebay::table::live {
namespace {

constexpr int64_t kBlockRows = 1024;
constexpr size_t kSlotsMin = 64;
// One word of the filter for so many keys: about one in a hundred others gets through.
constexpr uint64_t kKeysPerWord = 4;

}  // namespace

void EqualityIndex::Add(const KeyColumns& keys, int64_t sequence_number) {
  newest_ = std::max(newest_, sequence_number);
  bool nulls = keys.MayHaveNulls();
  std::array<uint64_t, kBlockRows> hashes;
  std::string key;
  for (int64_t first = 0; first < keys.row_count(); first += kBlockRows) {
    int64_t count = std::min(kBlockRows, keys.row_count() - first);
    keys.Hash(first, count, hashes.data());
    for (int64_t i = 0; i < count; ++i) {
      if (!keys.hash_is_key()) {
        keys.Encode(first + i, &key);
        AddOne(hashes[i], &key, sequence_number);
      } else if (nulls && keys.HasNull(first + i)) {
        newest_null_ = std::max(newest_null_, sequence_number);
      } else {
        AddOne(hashes[i], nullptr, sequence_number);
      }
    }
  }
}

void EqualityIndex::AddOne(uint64_t hash, const std::string* key,
                           int64_t sequence_number) {
  if ((used_ + 1) * 2 > slots_.size()) Grow();
  Slot& slot = Find(hash, key);
  if (slot.newest == kEmpty) {
    ++used_;
    slot.hash = hash;
    slot.key = keys_.size();
    if (key != nullptr) {
      uint64_t size = key->size();
      keys_.append(reinterpret_cast<const char*>(&size), sizeof(size));
      keys_.append(*key);
    }
  }
  slot.newest = std::max(slot.newest, sequence_number);
}

void EqualityIndex::Grow() {
  std::vector<Slot> old(std::max(kSlotsMin, slots_.size() * 2));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.newest == kEmpty) continue;
    size_t at = SlotOf(slot.hash);
    while (slots_[at].newest != kEmpty) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

bool EqualityIndex::SameKey(const Slot& slot, const std::string& key) const {
  uint64_t size;
  std::memcpy(&size, keys_.data() + slot.key, sizeof(size));
  return size == key.size() &&
         std::memcmp(keys_.data() + slot.key + sizeof(size), key.data(), size) == 0;
}

// The key's slot, or the empty one where it would be.
EqualityIndex::Slot& EqualityIndex::Find(uint64_t hash, const std::string* key) {
  size_t at = SlotOf(hash);
  while (slots_[at].newest != kEmpty) {
    bool same = slots_[at].hash == hash && (key == nullptr || SameKey(slots_[at], *key));
    if (same) break;
    at = (at + 1) & (slots_.size() - 1);
  }
  return slots_[at];
}

const EqualityIndex::Slot* EqualityIndex::Find(uint64_t hash,
                                               const std::string* key) const {
  const Slot& slot = const_cast<EqualityIndex*>(this)->Find(hash, key);
  return slot.newest == kEmpty ? nullptr : &slot;
}

void EqualityIndex::Seal() {
  if (slots_.empty()) Grow();
  filter_.assign(std::bit_ceil(used_ / kKeysPerWord + 1), 0);
  filter_mask_ = filter_.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.newest == kEmpty) continue;
    filter_[(slot.hash >> 24) & filter_mask_] |= FilterBits(slot.hash);
  }
}

void EqualityIndex::Kill(const KeyColumns& keys, int64_t data_sequence,
                         uint64_t first_row, model::LiveRows* live) const {
  if (!Applies(data_sequence)) return;
  bool nulls = keys.MayHaveNulls() && keys.hash_is_key();
  std::array<uint64_t, kBlockRows> hashes;
  std::array<uint16_t, kBlockRows> candidates;
  std::string key;
  for (int64_t first = 0; first < keys.row_count(); first += kBlockRows) {
    int64_t count = std::min(kBlockRows, keys.row_count() - first);
    keys.Hash(first, count, hashes.data());
    size_t found = 0;
    for (int64_t i = 0; i < count; ++i) {
      candidates[found] = static_cast<uint16_t>(i);
      found += MayHold(hashes[i]) ? 1 : 0;
    }
    for (size_t c = 0; c < found; ++c) {
      Prefetch(&slots_[SlotOf(hashes[candidates[c]])]);
    }
    for (size_t c = 0; c < found; ++c) {
      int64_t row = first + candidates[c];
      if (nulls && keys.HasNull(row)) continue;
      if (!keys.hash_is_key()) keys.Encode(row, &key);
      const Slot* slot = Find(hashes[candidates[c]], keys.hash_is_key() ? nullptr : &key);
      if (slot != nullptr && slot->newest > data_sequence) live->Kill(first_row + row);
    }
    if (!nulls || newest_null_ <= data_sequence) continue;
    for (int64_t row = first; row < first + count; ++row) {
      if (keys.HasNull(row)) live->Kill(first_row + row);
    }
  }
}

}  // namespace forebay::table::live
