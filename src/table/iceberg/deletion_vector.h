// Deletion vectors: the blobs of type deletion-vector-v1 in Puffin files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::table::iceberg {

// The positions in a blob (length, magic, 64-bit Roaring bitmap, CRC), ascending. Magic,
// CRC and bounds are checked, and positions must be below `row_count`: kCorrupt
// otherwise.
Result<std::vector<uint64_t>> DecodeDeletionVector(std::string_view blob,
                                                   uint64_t row_count);

struct PuffinBlob {
  std::string type{};
  int64_t offset = 0;
  int64_t length = 0;
  std::string referenced_data_file{};
  int64_t cardinality = -1;         // -1: not said
  std::string compression_codec{};  // empty: none, as of every deletion vector
};

// The footer of a whole Puffin file (its payload may be LZ4).
Result<std::vector<PuffinBlob>> ParsePuffin(std::string_view file);

}  // namespace forebay::table::iceberg
