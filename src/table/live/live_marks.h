// The memory of the bits that say which rows live. How many a file has is its own claim,
// which a broken file may set to anything. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace forebay::table::live {

class LiveMarks {
 public:
  // Bits of 1 GiB. More rows are not in one file.
  static constexpr uint64_t kFileRowsMax = uint64_t{1} << 33;

  explicit LiveMarks(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Before bits for `rows` are allocated. kCorrupt when no file has that many; kFull when
  // all files together take more than there is. Both name the file.
  Status Add(std::string_view file, uint64_t rows);
  void Remove(uint64_t rows) { used_bytes_ -= BytesOf(rows); }

 private:
  static uint64_t BytesOf(uint64_t rows) { return (rows + 63) / 64 * 8; }

  const uint64_t bytes_max_;
  std::atomic<uint64_t> used_bytes_{0};
};

}  // namespace forebay::table::live
