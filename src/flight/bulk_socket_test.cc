#include "flight/bulk_socket.h"

#include <gtest/gtest.h>

namespace forebay::flight {
namespace {

using Kind = BulkHeader::Kind;

const BulkHeader kChunk{.kind = Kind::kChunk,
                        .size = 0x1122334455,
                        .index = 7,
                        .key = {1, 2},
                        .checksum = {3, 4}};

TEST(BulkHeader, ComesBackFromItsBytes) {
  std::string bytes = kChunk.Encode();
  ASSERT_EQ(bytes.size(), BulkHeader::kBytes);
  auto header = BulkHeader::Decode(bytes);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->kind, kChunk.kind);
  EXPECT_EQ(header->size, kChunk.size);
  EXPECT_EQ(header->index, kChunk.index);
  EXPECT_EQ(header->key, kChunk.key);
  EXPECT_EQ(header->checksum, kChunk.checksum);
  EXPECT_TRUE(BulkHeader::Decode(BulkHeader{.kind = Kind::kRequest}.Encode()).ok());
  EXPECT_TRUE(BulkHeader::Decode(BulkHeader{.kind = Kind::kWorking}.Encode()).ok());
}

TEST(BulkHeader, WithAnyBitFlippedIsDamaged) {
  std::string good = kChunk.Encode();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(BulkHeader::Decode(bytes).status().code(), StatusCode::kCorrupt) << bit;
  }
}

TEST(BulkHeader, OfAnotherVersionOrKindOrLengthIsRefused) {
  std::string old = kChunk.Encode();
  old[3] = '2';
  EXPECT_EQ(old.substr(0, 4), "FBK2");
  EXPECT_EQ(BulkHeader::Decode(old).status().code(), StatusCode::kCorrupt);
  for (uint32_t kind : {0U, 7U}) {
    std::string bytes = BulkHeader{.kind = static_cast<Kind>(kind)}.Encode();
    EXPECT_EQ(BulkHeader::Decode(bytes).status().code(), StatusCode::kCorrupt) << kind;
  }
  std::string bytes = kChunk.Encode();
  EXPECT_FALSE(BulkHeader::Decode(bytes.substr(0, 55)).ok());
  EXPECT_FALSE(BulkHeader::Decode(bytes + "x").ok());
}

TEST(BulkHeader, TellsADamagedBodyFromAGoodOne) {
  BulkHeader header{.checksum = HashBytes("rows")};
  EXPECT_TRUE(header.CheckBody("rows").ok());
  EXPECT_EQ(header.CheckBody("Rows").code(), StatusCode::kCorrupt);
  EXPECT_EQ(header.CheckBody("").code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace forebay::flight
