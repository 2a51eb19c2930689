// Decompression of whole buffers whose size is not known before, with a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace arrow::util {
class Codec;
class Decompressor;
}  // namespace arrow::util

namespace forebay::table::avro {

enum class Compression : uint8_t { kNone, kDeflate, kZstd, kSnappy, kGzip, kLz4Frame };

// Keeps its buffer and state between calls. Not thread-safe.
class Codec {
 public:
  static Result<Codec> Make(Compression compression);
  Codec(Codec&&) noexcept;
  Codec& operator=(Codec&&) noexcept;
  ~Codec();

  // What `bytes` hold, valid until the next call. Damaged or unfinished streams, and
  // those of more than `size_max` bytes, are kCorrupt. Snappy: Avro's, with a checksum.
  Result<std::string_view> Decompress(std::string_view bytes, size_t size_max);

 private:
  Codec();
  Status Reserve(size_t size, size_t size_max);
  Result<std::string_view> Stream(std::string_view bytes, size_t size_max);
  Result<std::string_view> Snappy(std::string_view bytes, size_t size_max);

  Compression compression_ = Compression::kNone;
  std::shared_ptr<arrow::util::Codec> codec_;
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t capacity_ = 0;
  size_t used_ = 0;
};

}  // namespace forebay::table::avro
