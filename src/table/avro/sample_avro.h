// Writes small Avro files, for tests.
#pragma once

#include <arrow/util/compression.h>
#include <arrow/util/crc32.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::table::avro {

class SampleEncoder {
 public:
  SampleEncoder& Long(int64_t value) {
    auto zigzag = static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
    for (; zigzag >= 0x80; zigzag >>= 7) {
      bytes_ += static_cast<char>(static_cast<uint8_t>(zigzag | 0x80));
    }
    bytes_ += static_cast<char>(zigzag);
    return *this;
  }
  SampleEncoder& Bytes(std::string_view bytes) { return Long(bytes.size()).Raw(bytes); }
  SampleEncoder& Raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct SampleBlock {
  int64_t row_count = 0;
  std::string bytes;
};

struct SampleFile {
  std::string schema;
  std::string codec = "null";
  std::map<std::string, std::string> metadata{};
  std::vector<SampleBlock> blocks{};

  std::string Write() const {
    const std::string sync = "0123456789abcdef";
    SampleEncoder out;
    auto all = metadata;
    all["avro.schema"] = schema;
    all["avro.codec"] = codec;
    out.Raw(std::string_view("Obj\x01", 4)).Long(static_cast<int64_t>(all.size()));
    for (const auto& [key, value] : all) out.Bytes(key).Bytes(value);
    out.Long(0).Raw(sync);
    for (const SampleBlock& block : blocks) {
      out.Long(block.row_count).Bytes(Compress(block.bytes)).Raw(sync);
    }
    return out.bytes();
  }

 private:
  std::string Compress(const std::string& plain) const {
    if (codec == "null") return plain;
    arrow::util::GZipCodecOptions raw;
    raw.gzip_format = arrow::util::GZipFormat::DEFLATE;
    auto made =
        codec == "deflate"
            ? arrow::util::Codec::Create(arrow::Compression::GZIP, raw)
            : arrow::util::Codec::Create(codec == "snappy" ? arrow::Compression::SNAPPY
                                                           : arrow::Compression::ZSTD);
    auto compressor = std::move(made).ValueOrDie();
    auto* input = reinterpret_cast<const uint8_t*>(plain.data());
    auto size = static_cast<int64_t>(plain.size());
    std::string out(compressor->MaxCompressedLen(size, input), '\0');
    auto* target = reinterpret_cast<uint8_t*>(out.data());
    auto room = static_cast<int64_t>(out.size());
    out.resize(compressor->Compress(size, input, room, target).ValueOrDie());
    if (codec != "snappy") return out;
    uint32_t crc = arrow::internal::crc32(0, plain.data(), plain.size());
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(crc >> shift);
    return out;
  }
};

}  // namespace forebay::table::avro
