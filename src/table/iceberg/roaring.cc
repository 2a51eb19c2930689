#include "table/iceberg/roaring.h"

#include <bit>
#include <cstring>
#include <string>

namespace forebay::table::iceberg {
namespace {

constexpr uint32_t kCookieNoRuns = 12'346;
constexpr uint32_t kCookie = 12'347;  // of bitmaps that have runs; 16 bits
constexpr uint32_t kOffsetsFrom = 4;  // bitmaps with runs of fewer containers have none
constexpr uint32_t kArrayCardinalityMax = 4096;
constexpr size_t kBitsetBytes = 8192;

Status Bad(const char* why) {
  return Status::Corrupt(std::string("a deletion vector's bitmap is malformed: ") + why);
}

class Reader {
 public:
  Reader(std::string_view bytes, uint64_t limit) : rest_(bytes), limit_(limit) {}

  Result<std::vector<uint64_t>> Read() && {
    uint64_t count = 0;
    if (!Get(&count) || count > rest_.size()) return Bad("it is cut off");
    int64_t last_key = -1;
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t key = 0;
      if (!Get(&key)) return Bad("it is cut off");
      if (static_cast<int64_t>(key) <= last_key) return Bad("keys are out of order");
      if (key > INT32_MAX) return Bad("a position is negative");
      last_key = key;
      FB_RETURN_NOT_OK(ReadBitmap(static_cast<uint64_t>(key) << 32));
    }
    if (!rest_.empty()) return Bad("bytes are left");
    return std::move(positions_);
  }

 private:
  struct Container {
    uint16_t key = 0;
    uint32_t cardinality = 0;
    bool run = false;
  };

  template <typename T>
  bool Get(T* value) {
    if (rest_.size() < sizeof(T)) return false;
    std::memcpy(value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return true;
  }

  bool Take(size_t size, std::string_view* bytes) {
    if (rest_.size() < size) return false;
    *bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  Status ReadHeader(std::vector<Container>* containers) {
    uint32_t cookie = 0;
    uint32_t count = 0;
    std::string_view run_flags;
    std::string_view unused;
    if (!Get(&cookie)) return Bad("it is cut off");
    bool has_runs = (cookie & 0xffff) == kCookie;
    if (has_runs) {
      count = (cookie >> 16) + 1;
      if (!Take((count + 7) / 8, &run_flags)) return Bad("it is cut off");
    } else if (cookie != kCookieNoRuns || !Get(&count)) {
      return Bad("it has an unknown form");
    }
    if (count > 65'536 || rest_.size() < count * 4) return Bad("it is cut off");
    containers->resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      Container& container = (*containers)[i];
      uint16_t cardinality_less_1 = 0;
      if (!Get(&container.key) || !Get(&cardinality_less_1)) return Bad("it is cut off");
      container.cardinality = cardinality_less_1 + 1U;
      container.run = has_runs && (run_flags[i / 8] >> (i % 8) & 1) != 0;
      if (i > 0 && container.key <= (*containers)[i - 1].key) {
        return Bad("containers are out of order");
      }
    }
    bool has_offsets = !has_runs || count >= kOffsetsFrom;
    if (has_offsets && !Take(size_t{4} * count, &unused)) return Bad("it is cut off");
    return Status::OK();
  }

  Status ReadBitmap(uint64_t base) {
    std::vector<Container> containers;
    FB_RETURN_NOT_OK(ReadHeader(&containers));
    for (const Container& container : containers) {
      size_t before = positions_.size();
      uint64_t start = base | static_cast<uint64_t>(container.key) << 16;
      FB_RETURN_NOT_OK(container.run ? ReadRuns(start)
                       : container.cardinality <= kArrayCardinalityMax
                           ? ReadArray(start, container.cardinality)
                           : ReadBitset(start));
      // Of runs, too, the header says how many values they make.
      if (positions_.size() - before != container.cardinality) {
        return Bad("a container has another size than its header says");
      }
      if (positions_.back() >= limit_) {
        return Bad("a position is beyond the end of the data file");
      }
    }
    return Status::OK();
  }

  Status ReadArray(uint64_t start, uint32_t cardinality) {
    std::string_view bytes;
    if (!Take(size_t{2} * cardinality, &bytes)) return Bad("it is cut off");
    int32_t last = -1;
    for (uint32_t i = 0; i < cardinality; ++i) {
      uint16_t value = 0;
      std::memcpy(&value, bytes.data() + size_t{2} * i, 2);
      if (value <= last) return Bad("positions are out of order");
      last = value;
      positions_.push_back(start | value);
    }
    return Status::OK();
  }

  Status ReadBitset(uint64_t start) {
    std::string_view bytes;
    if (!Take(kBitsetBytes, &bytes)) return Bad("it is cut off");
    for (size_t i = 0; i < kBitsetBytes / 8; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i * 8, 8);
      for (; word != 0; word &= word - 1) {
        positions_.push_back(start |
                             (i * 64 + static_cast<size_t>(std::countr_zero(word))));
      }
    }
    return Status::OK();
  }

  Status ReadRuns(uint64_t start) {
    uint16_t count = 0;
    if (!Get(&count)) return Bad("it is cut off");
    int32_t last = -1;
    for (uint16_t i = 0; i < count; ++i) {
      uint16_t first = 0;
      uint16_t more = 0;
      if (!Get(&first) || !Get(&more)) return Bad("it is cut off");
      if (first <= last || first + more > 65'535) return Bad("runs overlap");
      last = first + more;
      for (int32_t value = first; value <= last; ++value) {
        positions_.push_back(start | static_cast<uint64_t>(value));
      }
    }
    return Status::OK();
  }

  std::string_view rest_;
  uint64_t limit_;
  std::vector<uint64_t> positions_;
};

}  // namespace

Result<std::vector<uint64_t>> DecodeRoaring64(std::string_view bytes, uint64_t limit) {
  return Reader(bytes, limit).Read();
}

}  // namespace forebay::table::iceberg
