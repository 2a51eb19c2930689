#include "table/iceberg/deletion_vector.h"

#include <arrow/util/crc32.h>
#include <fmt/format.h>

#include "table/iceberg/roaring.h"

namespace forebay::table::iceberg {
namespace {

constexpr std::string_view kMagic("\xd1\xd3\x39\x64", 4);
// Length, magic, number of bitmaps, CRC.
constexpr size_t kBlobBytesMin = 4 + 4 + 8 + 4;

uint32_t Big(std::string_view bytes) {
  uint32_t value = 0;
  for (char c : bytes.substr(0, 4)) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

}  // namespace

Result<std::vector<uint64_t>> DecodeDeletionVector(std::string_view blob,
                                                   uint64_t row_count) {
  if (blob.size() < kBlobBytesMin) return Status::Corrupt("a deletion vector is cut off");
  std::string_view body = blob.substr(4, blob.size() - 8);
  if (Big(blob) != body.size()) {
    return Status::Corrupt(
        fmt::format("a deletion vector has another size than it says: expected={} got={}",
                    Big(blob), body.size()));
  }
  if (!body.starts_with(kMagic)) return Status::Corrupt("not a deletion vector");
  uint32_t expected = Big(blob.substr(blob.size() - 4));
  uint32_t crc = arrow::internal::crc32(0, body.data(), body.size());
  if (crc != expected) {
    return Status::Corrupt(fmt::format(
        "deletion vector checksum mismatch: expected={:08x} got={:08x}", expected, crc));
  }
  return DecodeRoaring64(body.substr(kMagic.size()), row_count);
}

}  // namespace forebay::table::iceberg
