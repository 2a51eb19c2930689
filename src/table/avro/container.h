// Avro object container files: a header, then blocks of rows between sync markers.
//
//   FB_ASSIGN_OR_RETURN(Header header, ParseHeader(file));
//   FB_ASSIGN_OR_RETURN(auto blocks, BlockReader::Make(header,
//   file.substr(header.size))); for (Block block;;) {
//     FB_ASSIGN_OR_RETURN(bool more, blocks.Next(&block));
//     if (!more) break;
//     Decoder decoder(block.bytes);
//     for (int64_t row = 0; row < block.row_count; ++row) …
//     FB_RETURN_NOT_OK(decoder.Finish("block"));
//   }
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "table/avro/codec.h"
#include "table/avro/schema.h"

namespace forebay::table::avro {

struct Header {
  std::map<std::string, std::string, std::less<>> metadata;  // "avro.schema", …
  Schema schema;
  Compression compression = Compression::kNone;
  std::string sync;   // 16 bytes
  uint64_t size = 0;  // of the header itself: the first block is there
};

// From the first bytes of a file; kCorrupt when they end inside the header or are no
// Avro. kUnsupported: a codec or schema that is not read.
Result<Header> ParseHeader(std::string_view file);

struct Block {
  int64_t row_count = 0;
  std::string_view bytes;  // decompressed, valid until the next call
};

// Where a block lies, relative to the bytes that the BlockReader was given.
struct BlockPosition {
  uint64_t offset = 0;
  uint64_t size = 0;  // with its counts and sync marker
  int64_t row_count = 0;
};

// A block may decompress to this much.
inline constexpr size_t kBlockBytesMax = size_t{256} << 20;

// Reads whole blocks one after another; `blocks` starts at a block and ends after one.
class BlockReader {
 public:
  static Result<BlockReader> Make(const Header& header, std::string_view blocks);

  // False after the last block. kCorrupt: cut off, a wrong sync marker or checksum, more
  // rows than the bytes can hold.
  Result<bool> Next(Block* block);
  // The same without decompressing.
  Result<bool> NextPosition(BlockPosition* position);

 private:
  BlockReader(const Header& header, std::string_view blocks, Codec codec);
  Result<bool> NextRaw(BlockPosition* position, std::string_view* payload);

  std::string sync_;
  int64_t row_bytes_min_ = 0;
  std::string_view blocks_;
  size_t offset_ = 0;
  Codec codec_;
};

}  // namespace forebay::table::avro
