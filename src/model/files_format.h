// The bytes of a files manifest, shared by its view and its writer
// (docs/formats/files-manifest.md).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace forebay::model::files_format {

inline constexpr char kMagic[8] = {'F', 'B', 'F', 'I', 'L', 'E', 'S', '\n'};
inline constexpr int kOffsetBits = 40;
inline constexpr int kNameBits = 11;
inline constexpr int kIdentityBits = 12;
inline constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;
inline constexpr uint64_t kNameMask = (uint64_t{1} << kNameBits) - 1;
inline constexpr uint64_t kIdentityMask = (uint64_t{1} << kIdentityBits) - 1;
inline constexpr uint64_t kEtagBit = uint64_t{1} << 63;

struct Section {
  uint64_t offset;
  uint64_t count;  // of records; of bytes for text
};

struct Header {
  char magic[8];
  uint32_t format_version;
  uint32_t reserved;
  Hash128 version;
  uint64_t size;
  uint64_t file_bytes;
  uint64_t left_out_count;
  Section root;
  Section origin;
  Section text;
  Section left_out;
  Section files;
  Section directories;
  Section packs;
  Section members;
  Section file_slots;
  Section directory_slots;
};
static_assert(sizeof(Header) == 56 + 10 * 16);

// A slot is 0, or an index + 1 in its low bits and bits of the hash above them: most
// slots of other names are told apart without a look at the name.
class SlotTable {
 public:
  explicit SlotTable(uint64_t item_count) : index_bits_(std::bit_width(item_count)) {}

  static uint64_t SlotCount(uint64_t item_count) {
    return item_count + item_count / 3 + 1;
  }
  static uint64_t Home(uint64_t hash, uint64_t slot_count) {
    return ((hash & 0xFFFFFFFF) * slot_count) >> 32;
  }
  uint32_t Slot(uint64_t hash, uint32_t index) const { return Mark(hash) | (index + 1); }
  bool MayBe(uint32_t slot, uint64_t hash) const {
    return (slot & ~IndexMask()) == Mark(hash);
  }
  uint32_t Index(uint32_t slot) const { return (slot & IndexMask()) - 1; }

 private:
  uint32_t IndexMask() const {
    return static_cast<uint32_t>((uint64_t{1} << index_bits_) - 1);
  }
  uint32_t Mark(uint64_t hash) const {
    return static_cast<uint32_t>(hash >> 32) & ~IndexMask();
  }
  int index_bits_;
};

inline uint64_t NameHash(uint32_t directory, std::string_view name) {
  return HashBytes(name, directory).low;
}
inline uint64_t PathHash(std::string_view path) { return HashBytes(path).low; }

}  // namespace forebay::model::files_format
