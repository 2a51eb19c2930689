#include "table/avro/container.h"

#include <fmt/format.h>

#include <utility>

#include "table/avro/decoder.h"

namespace forebay::table::avro {
namespace {

constexpr std::string_view kMagic("Obj\x01", 4);
constexpr size_t kSyncSize = 16;
// Blocks of rows that have no bytes at all can claim any number of them.
constexpr int64_t kEmptyRowCountMax = int64_t{1} << 24;

Result<Compression> CompressionOf(const Header& header) {
  auto it = header.metadata.find("avro.codec");
  if (it == header.metadata.end() || it->second.empty() || it->second == "null") {
    return Compression::kNone;
  }
  if (it->second == "deflate") return Compression::kDeflate;
  if (it->second == "zstandard") return Compression::kZstd;
  if (it->second == "snappy") return Compression::kSnappy;
  return Status::Unsupported(
      fmt::format("the Avro codec is not supported: codec={}", it->second));
}

Status CutOff() { return Status::Corrupt("the Avro file ends in the middle of a block"); }

}  // namespace

Result<Header> ParseHeader(std::string_view file) {
  if (!file.starts_with(kMagic)) return Status::Corrupt("not an Avro file");
  Header header;
  Decoder decoder(file.substr(kMagic.size()));
  while (int64_t count = decoder.ItemCount(2)) {
    for (int64_t i = 0; i < count && decoder.ok(); ++i) {
      std::string key(decoder.Bytes());
      header.metadata[std::move(key)] = std::string(decoder.Bytes());
    }
  }
  header.sync = std::string(decoder.Fixed(kSyncSize));
  if (!decoder.ok()) {
    return Status::Corrupt("the Avro file's header is damaged or cut off");
  }
  header.size = file.size() - decoder.remaining();
  FB_ASSIGN_OR_RETURN(header.compression, CompressionOf(header));
  auto schema = header.metadata.find("avro.schema");
  if (schema == header.metadata.end()) {
    return Status::Corrupt("the Avro file has no schema");
  }
  FB_ASSIGN_OR_RETURN(header.schema, ParseSchema(schema->second));
  return header;
}

BlockReader::BlockReader(const Header& header, std::string_view blocks, Codec codec)
    : sync_(header.sync),
      row_bytes_min_(header.schema.bytes_min),
      blocks_(blocks),
      codec_(std::move(codec)) {}

Result<BlockReader> BlockReader::Make(const Header& header, std::string_view blocks) {
  FB_ASSIGN_OR_RETURN(Codec codec, Codec::Make(header.compression));
  return BlockReader(header, blocks, std::move(codec));
}

Result<bool> BlockReader::NextRaw(BlockPosition* position, std::string_view* payload) {
  if (offset_ >= blocks_.size()) return false;
  Decoder decoder(blocks_.substr(offset_));
  int64_t row_count = decoder.Long();
  *payload = decoder.Bytes();
  std::string_view sync = decoder.Fixed(kSyncSize);
  if (!decoder.ok()) return CutOff();
  if (sync != sync_) {
    return Status::Corrupt(fmt::format(
        "an Avro block does not end with the file's sync marker: offset={}", offset_));
  }
  if (row_count < 0) return Status::Corrupt("an Avro block has a negative row count");
  size_t end = blocks_.size() - decoder.remaining();
  *position = {.offset = offset_, .size = end - offset_, .row_count = row_count};
  offset_ = end;
  return true;
}

Result<bool> BlockReader::NextPosition(BlockPosition* position) {
  std::string_view payload;
  return NextRaw(position, &payload);
}

Result<bool> BlockReader::Next(Block* block) {
  BlockPosition position;
  std::string_view payload;
  FB_ASSIGN_OR_RETURN(bool more, NextRaw(&position, &payload));
  if (!more) return false;
  FB_ASSIGN_OR_RETURN(block->bytes, codec_.Decompress(payload, kBlockBytesMax));
  block->row_count = position.row_count;
  int64_t count_max = row_bytes_min_ > 0
                          ? static_cast<int64_t>(block->bytes.size()) / row_bytes_min_
                          : kEmptyRowCountMax;
  if (block->row_count > count_max) {
    return Status::Corrupt(
        fmt::format("an Avro block claims more rows than it can hold: rows={} bytes={}",
                    block->row_count, block->bytes.size()));
  }
  return true;
}

}  // namespace forebay::table::avro
