#include "table/avro/container.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "table/avro/decoder.h"
#include "table/avro/sample_avro.h"

namespace forebay::table::avro {
namespace {

constexpr const char* kSchema = R"({"type": "record", "name": "r", "fields": [
    {"name": "n", "type": "long"}, {"name": "s", "type": "string"}]})";

SampleFile Sample(const std::string& codec) {
  SampleFile file{.schema = kSchema, .codec = codec, .metadata = {{"who", "me"}}};
  for (int block = 0; block < 3; ++block) {
    SampleEncoder rows;
    for (int row = 0; row < 100; ++row) {
      rows.Long(block * 1'000'000'007LL - row).Bytes(fmt::format("row {}", row));
    }
    file.blocks.push_back({100, rows.bytes()});
  }
  return file;
}

// All values as one text, or why not.
Result<std::string> ReadAll(std::string_view bytes) {
  FB_ASSIGN_OR_RETURN(Header header, ParseHeader(bytes));
  FB_ASSIGN_OR_RETURN(auto reader, BlockReader::Make(header, bytes.substr(header.size)));
  std::string all;
  for (Block block;;) {
    FB_ASSIGN_OR_RETURN(bool more, reader.Next(&block));
    if (!more) return all;
    Decoder decoder(block.bytes);
    for (int64_t row = 0; row < block.row_count && decoder.ok(); ++row) {
      all += fmt::format("{} ", decoder.Long());
      all += decoder.Bytes();
      all += '\n';
    }
    FB_RETURN_NOT_OK(decoder.Finish("block"));
  }
}

class ContainerCodec : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Codecs, ContainerCodec,
                         testing::Values("null", "deflate", "zstandard", "snappy"));

TEST_P(ContainerCodec, GivesBackWhatWasWritten) {
  std::string file = Sample(GetParam()).Write();
  auto rows = ReadAll(file);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, *ReadAll(Sample("null").Write()));
  EXPECT_NE(rows->find("2000000014 row 0\n"), std::string::npos);
  EXPECT_EQ(ParseHeader(file)->metadata.at("who"), "me");
}

TEST_P(ContainerCodec, FindsBlocksWithoutDecompressing) {
  std::string file = Sample(GetParam()).Write();
  auto header = ParseHeader(file);
  ASSERT_TRUE(header.ok());
  auto reader = BlockReader::Make(*header, std::string_view(file).substr(header->size));
  BlockPosition position;
  uint64_t end = 0;
  for (int block = 0; block < 3; ++block) {
    ASSERT_TRUE(*reader->NextPosition(&position));
    EXPECT_EQ(position.offset, end);
    EXPECT_EQ(position.row_count, 100);
    end = position.offset + position.size;
  }
  EXPECT_FALSE(*reader->NextPosition(&position));
  EXPECT_EQ(header->size + end, file.size());
  // A block can be read alone.
  auto last = BlockReader::Make(
      *header,
      std::string_view(file).substr(header->size + position.offset, position.size));
  Block block;
  EXPECT_TRUE(*last->Next(&block));
  EXPECT_EQ(Decoder(block.bytes).Long(), 2'000'000'014);
}

TEST_P(ContainerCodec, RefusesEveryTruncation) {
  std::string file = Sample(GetParam()).Write();
  std::string whole = *ReadAll(file);
  for (size_t size = 0; size < file.size(); ++size) {
    auto rows = ReadAll(std::string_view(file).substr(0, size));
    // Cut between blocks, only fewer rows tell.
    if (rows.ok()) {
      EXPECT_TRUE(whole.starts_with(*rows));
      EXPECT_LT(rows->size(), whole.size());
    } else {
      EXPECT_EQ(rows.status().code(), StatusCode::kCorrupt) << rows.status();
    }
  }
}

TEST_P(ContainerCodec, SurvivesEveryFlippedBit) {
  std::string file = Sample(GetParam()).Write();
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= static_cast<char>(1 << bit % 8);
    auto rows = ReadAll(file);
    EXPECT_NE(rows.status().code(), StatusCode::kInternal) << "bit " << bit;
    file[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

TEST(Container, ChecksSnappysChecksum) {
  SampleFile sample = Sample("snappy");
  std::string file = sample.Write();
  size_t sync = file.rfind("0123456789abcdef");
  file[sync - 1] ^= 1;
  auto rows = ReadAll(file);
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.status().message().find("crc32"), std::string::npos);
}

TEST(Container, NamesACodecItCannotRead) {
  SampleFile sample = Sample("null");
  std::string file = sample.Write();
  file.replace(file.find("\x08null"), 5,
               "\x08"
               "xz22");
  auto rows = ReadAll(file);
  EXPECT_EQ(rows.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(rows.status().message().find("xz22"), std::string::npos);
}

TEST(Container, RefusesMoreRowsThanBytes) {
  SampleFile sample = Sample("null");
  sample.blocks[0].row_count = int64_t{1} << 60;
  EXPECT_EQ(ReadAll(sample.Write()).status().code(), StatusCode::kCorrupt);
}

TEST(Codec, EndsWhenItsInputDoes) {
  for (Compression compression :
       {Compression::kDeflate, Compression::kZstd, Compression::kGzip,
        Compression::kLz4Frame, Compression::kSnappy}) {
    auto codec = Codec::Make(compression);
    ASSERT_TRUE(codec.ok()) << codec.status();
    EXPECT_EQ(codec->Decompress("", 1 << 20).status().code(), StatusCode::kCorrupt);
  }
}

TEST(Codec, StopsAtItsLimit) {
  std::string zeros(1 << 20, '\0');
  SampleFile file{.schema = R"("bytes")", .codec = "deflate", .metadata = {}};
  file.blocks.push_back({0, zeros});
  std::string bytes = file.Write();
  auto header = ParseHeader(bytes);
  std::string_view block = std::string_view(bytes).substr(header->size);
  Decoder decoder(block);
  decoder.Long();
  std::string_view payload = decoder.Bytes();
  auto codec = Codec::Make(Compression::kDeflate);
  EXPECT_EQ(codec->Decompress(payload, zeros.size())->size(), zeros.size());
  EXPECT_EQ(codec->Decompress(payload, zeros.size() - 1).status().code(),
            StatusCode::kCorrupt);
  // Python's writers leave part of a zlib checksum behind the stream.
  EXPECT_EQ(codec->Decompress(std::string(payload) + "abc", zeros.size())->size(),
            zeros.size());
}

}  // namespace
}  // namespace forebay::table::avro
