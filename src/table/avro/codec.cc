#include "table/avro/codec.h"

#include <arrow/util/compression.h>
#include <arrow/util/crc32.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/arrow_status.h"

namespace forebay::table::avro {
namespace {

using ArrowCodec = arrow::util::Codec;

// Some writers cut a zlib stream's header off and forget its checksum.
constexpr size_t kDeflateTailMax = 4;

arrow::Result<std::unique_ptr<ArrowCodec>> MakeCodec(Compression compression) {
  arrow::util::GZipCodecOptions zlib;
  switch (compression) {
    case Compression::kDeflate:
      zlib.gzip_format = arrow::util::GZipFormat::DEFLATE;
      return ArrowCodec::Create(arrow::Compression::GZIP, zlib);
    case Compression::kGzip:
      zlib.gzip_format = arrow::util::GZipFormat::GZIP;
      return ArrowCodec::Create(arrow::Compression::GZIP, zlib);
    case Compression::kZstd: return ArrowCodec::Create(arrow::Compression::ZSTD);
    case Compression::kSnappy: return ArrowCodec::Create(arrow::Compression::SNAPPY);
    case Compression::kLz4Frame: return ArrowCodec::Create(arrow::Compression::LZ4_FRAME);
    case Compression::kNone: break;
  }
  return std::unique_ptr<ArrowCodec>();
}

const uint8_t* Data(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

Status Damaged(std::string_view why) {
  return Status::Corrupt(fmt::format("compressed data is damaged: {}", why));
}

// How long a raw snappy stream says its content is; -1: it does not.
int64_t SnappySize(std::string_view bytes) {
  uint64_t size = 0;
  for (size_t i = 0; i < 5 && i < bytes.size(); ++i) {
    auto byte = static_cast<uint8_t>(bytes[i]);
    size |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return static_cast<int64_t>(size);
  }
  return -1;
}

}  // namespace

Codec::Codec() = default;
Codec::Codec(Codec&&) noexcept = default;
Codec& Codec::operator=(Codec&&) noexcept = default;
Codec::~Codec() = default;

Result<Codec> Codec::Make(Compression compression) {
  Codec codec;
  codec.compression_ = compression;
  if (compression == Compression::kNone) return codec;
  FB_ASSIGN_OR_RETURN(codec.codec_, FromArrow(MakeCodec(compression)));
  if (compression == Compression::kSnappy) return codec;
  FB_ASSIGN_OR_RETURN(codec.decompressor_, FromArrow(codec.codec_->MakeDecompressor()));
  return codec;
}

Result<std::string_view> Codec::Decompress(std::string_view bytes, size_t size_max) {
  if (compression_ == Compression::kNone) {
    if (bytes.size() > size_max) return Reserve(bytes.size(), size_max);
    return bytes;
  }
  return compression_ == Compression::kSnappy ? Snappy(bytes, size_max)
                                              : Stream(bytes, size_max);
}

Status Codec::Reserve(size_t size, size_t size_max) {
  if (size > size_max) {
    return Status::Corrupt(
        fmt::format("compressed data holds more than is allowed: limit={}", size_max));
  }
  if (size <= capacity_) return Status::OK();
  auto larger = std::make_unique_for_overwrite<uint8_t[]>(size);
  if (used_ > 0) std::memcpy(larger.get(), buffer_.get(), used_);
  buffer_ = std::move(larger);
  capacity_ = size;
  return Status::OK();
}

Result<std::string_view> Codec::Stream(std::string_view bytes, size_t size_max) {
  // One byte of room beyond the limit: a full buffer says that there is more.
  const size_t room = size_max + 1;
  used_ = 0;
  FB_RETURN_NOT_OK(FromArrow(decompressor_->Reset()));
  FB_RETURN_NOT_OK(Reserve(std::min(room, bytes.size() * 4 + 4096), room));
  while (true) {
    auto step = decompressor_->Decompress(
        static_cast<int64_t>(bytes.size()), Data(bytes),
        static_cast<int64_t>(std::min(capacity_, room) - used_), buffer_.get() + used_);
    if (!step.ok()) return Damaged(step.status().message());
    bytes.remove_prefix(static_cast<size_t>(step->bytes_read));
    used_ += static_cast<size_t>(step->bytes_written);
    if (used_ > size_max) return Reserve(used_, size_max);
    if (decompressor_->IsFinished()) {
      if (bytes.empty()) break;
      if (step->bytes_read == 0) return Damaged("it does not go on after its end");
      if (compression_ == Compression::kDeflate) {
        if (bytes.size() <= kDeflateTailMax) break;
        return Damaged("bytes follow its end");
      }
      // Another frame or member follows.
      FB_RETURN_NOT_OK(FromArrow(decompressor_->Reset()));
    } else if (used_ == capacity_) {
      FB_RETURN_NOT_OK(Reserve(std::min(room, capacity_ * 2), room));
    } else if (step->bytes_read == 0 && step->bytes_written == 0) {
      // It says that it wants more room, but it has some: it wants more input.
      return Damaged("it ends too early");
    }
  }
  return std::string_view(reinterpret_cast<char*>(buffer_.get()), used_);
}

Result<std::string_view> Codec::Snappy(std::string_view bytes, size_t size_max) {
  if (bytes.size() < 4) return Damaged("it ends too early");
  uint32_t expected = 0;
  for (char c : bytes.substr(bytes.size() - 4)) {
    expected = expected << 8 | static_cast<uint8_t>(c);
  }
  bytes.remove_suffix(4);
  int64_t size = SnappySize(bytes);
  if (size < 0) return Damaged("it says no size");
  used_ = 0;
  FB_RETURN_NOT_OK(Reserve(static_cast<size_t>(size), size_max));
  auto written = codec_->Decompress(static_cast<int64_t>(bytes.size()), Data(bytes), size,
                                    buffer_.get());
  if (!written.ok()) return Damaged(written.status().message());
  if (*written != size) return Damaged("it ends too early");
  uint32_t crc = arrow::internal::crc32(0, buffer_.get(), static_cast<size_t>(size));
  if (crc != expected) {
    return Damaged(fmt::format("expected crc32={:08x}, got {:08x}", expected, crc));
  }
  return std::string_view(reinterpret_cast<char*>(buffer_.get()),
                          static_cast<size_t>(size));
}

}  // namespace forebay::table::avro
