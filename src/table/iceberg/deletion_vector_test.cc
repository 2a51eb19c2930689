#include "table/iceberg/deletion_vector.h"

#include <arrow/util/compression.h>
#include <arrow/util/crc32.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "table/iceberg/roaring.h"

namespace forebay::table::iceberg {
namespace {

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

enum class Form { kArrayOrBitset, kRuns };

// One 32-bit bitmap with a container per 65,536 positions.
std::string Bitmap32(const std::vector<uint32_t>& positions, Form form) {
  std::vector<std::pair<uint16_t, std::vector<uint16_t>>> containers;
  for (uint32_t position : positions) {
    auto key = static_cast<uint16_t>(position >> 16);
    if (containers.empty() || containers.back().first != key)
      containers.push_back({key, {}});
    containers.back().second.push_back(static_cast<uint16_t>(position));
  }
  auto count = static_cast<uint32_t>(containers.size());
  std::string header;
  std::string body;
  if (form == Form::kRuns) {
    Put<uint32_t>(&header, 12'347 | (count - 1) << 16);
    header += std::string((count + 7) / 8, '\xff');
  } else {
    Put<uint32_t>(&header, 12'346);
    Put<uint32_t>(&header, count);
  }
  for (const auto& [key, values] : containers) {
    Put<uint16_t>(&header, key);
    Put<uint16_t>(&header, static_cast<uint16_t>(values.size() - 1));
  }
  if (form != Form::kRuns || count >= 4) header += std::string(size_t{4} * count, '\0');
  for (const auto& [key, values] : containers) {
    if (form == Form::kRuns) {
      std::string runs;
      uint16_t run_count = 0;
      for (size_t i = 0; i < values.size();) {
        size_t end = i + 1;
        while (end < values.size() && values[end] == values[end - 1] + 1) ++end;
        Put<uint16_t>(&runs, values[i]);
        Put<uint16_t>(&runs, static_cast<uint16_t>(end - i - 1));
        ++run_count;
        i = end;
      }
      Put<uint16_t>(&body, run_count);
      body += runs;
    } else if (values.size() <= 4096) {
      for (uint16_t value : values) Put<uint16_t>(&body, value);
    } else {
      std::string bits(8192, '\0');
      for (uint16_t value : values) bits[value / 8] |= static_cast<char>(1 << value % 8);
      body += bits;
    }
  }
  return header + body;
}

std::string Vector64(const std::string& bitmap, uint32_t key = 0) {
  std::string vector;
  Put<uint64_t>(&vector, 1);
  Put<uint32_t>(&vector, key);
  return vector + bitmap;
}

std::string Big(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

std::string Blob(const std::string& vector) {
  std::string body = "\xd1\xd3\x39\x64" + vector;
  return Big(static_cast<uint32_t>(body.size())) + body +
         Big(arrow::internal::crc32(0, body.data(), body.size()));
}

std::vector<uint32_t> Sample(uint32_t seed) {
  std::mt19937 random(seed);
  std::set<uint32_t> positions;
  for (int i = 0; i < 300; ++i) positions.insert(random() % 400'000);
  for (uint32_t i = 70'000; i < 76'000; ++i) positions.insert(i);
  for (uint32_t i = 0; i < 5000; ++i) positions.insert(140'000 + i * 2);
  return {positions.begin(), positions.end()};
}

TEST(DeletionVector, ReadsArraysBitsetsAndRuns) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<uint32_t> sample = Sample(seed);
    std::vector<uint64_t> expected(sample.begin(), sample.end());
    for (Form form : {Form::kArrayOrBitset, Form::kRuns}) {
      auto positions =
          DecodeDeletionVector(Blob(Vector64(Bitmap32(sample, form))), 400'000);
      ASSERT_TRUE(positions.ok()) << positions.status();
      EXPECT_EQ(*positions, expected);
    }
  }
}

TEST(DeletionVector, ReadsAFullContainer) {
  std::vector<uint32_t> all(65'536);
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  for (Form form : {Form::kArrayOrBitset, Form::kRuns}) {
    auto positions = DecodeDeletionVector(Blob(Vector64(Bitmap32(all, form))), 65'536);
    ASSERT_TRUE(positions.ok()) << positions.status();
    EXPECT_EQ(positions->size(), 65'536U);
  }
}

TEST(DeletionVector, ReadsPositionsAboveFourBillion) {
  std::string vector = Vector64(Bitmap32({7}, Form::kArrayOrBitset), 3);
  auto positions = DecodeDeletionVector(Blob(vector), uint64_t{1} << 40);
  ASSERT_TRUE(positions.ok()) << positions.status();
  EXPECT_EQ((*positions)[0], (uint64_t{3} << 32) + 7);
}

TEST(DeletionVector, RefusesPositionsBeyondTheFile) {
  std::string blob = Blob(Vector64(Bitmap32({1, 99}, Form::kArrayOrBitset)));
  EXPECT_TRUE(DecodeDeletionVector(blob, 100).ok());
  EXPECT_EQ(DecodeDeletionVector(blob, 99).status().code(), StatusCode::kCorrupt);
  std::string negative = Vector64(Bitmap32({1}, Form::kArrayOrBitset), 0x80000000);
  EXPECT_FALSE(DecodeDeletionVector(Blob(negative), UINT64_MAX).ok());
}

TEST(DeletionVector, FindsEveryFlippedBitAndEveryTruncation) {
  std::string blob = Blob(Vector64(Bitmap32({1, 3, 5, 70'000}, Form::kRuns)));
  ASSERT_TRUE(DecodeDeletionVector(blob, 100'000).ok());
  for (size_t size = 0; size < blob.size(); ++size) {
    EXPECT_FALSE(DecodeDeletionVector(blob.substr(0, size), 100'000).ok()) << size;
  }
  for (size_t bit = 0; bit < blob.size() * 8; ++bit) {
    std::string damaged = blob;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_EQ(DecodeDeletionVector(damaged, 100'000).status().code(),
              StatusCode::kCorrupt);
  }
}

// Behind a checksum that fits, whatever a writer could have meant.
TEST(Roaring, SurvivesDamagedBitmaps) {
  for (Form form : {Form::kArrayOrBitset, Form::kRuns}) {
    std::string vector = Vector64(Bitmap32(Sample(1), form));
    for (size_t bit = 0; bit < 400 * 8; ++bit) {
      std::string damaged = vector;
      damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
      auto positions = DecodeRoaring64(damaged, 400'000);
      if (!positions.ok()) continue;
      EXPECT_TRUE(std::ranges::is_sorted(*positions));
      EXPECT_LT(positions->back(), 400'000U);
    }
    for (size_t size = 0; size < vector.size(); size += 7) {
      EXPECT_FALSE(DecodeRoaring64(vector.substr(0, size), 400'000).ok());
    }
  }
}

std::string Puffin(const std::string& payload, uint32_t flags) {
  std::string file = "PFA1" + std::string(30, 'b') + "PFA1" + payload;
  Put<uint32_t>(&file, static_cast<uint32_t>(payload.size()));
  Put<uint32_t>(&file, flags);
  return file + "PFA1";
}

constexpr const char* kFooter = R"({"blobs": [{"type": "deletion-vector-v1",
    "fields": [], "snapshot-id": -1, "sequence-number": -1, "offset": 4, "length": 30,
    "properties": {"referenced-data-file": "s3://b/x", "cardinality": "5"}}]})";

TEST(Puffin, ReadsItsFooter) {
  auto blobs = ParsePuffin(Puffin(kFooter, 0));
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  ASSERT_EQ(blobs->size(), 1U);
  EXPECT_EQ((*blobs)[0].referenced_data_file, "s3://b/x");
  EXPECT_EQ((*blobs)[0].cardinality, 5);
  EXPECT_EQ((*blobs)[0].length, 30);
}

TEST(Puffin, ReadsACompressedFooter) {
  auto codec = arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME).ValueOrDie();
  std::string text = kFooter;
  std::string packed(codec->MaxCompressedLen(text.size(), nullptr), '\0');
  packed.resize(codec
                    ->Compress(static_cast<int64_t>(text.size()),
                               reinterpret_cast<const uint8_t*>(text.data()),
                               static_cast<int64_t>(packed.size()),
                               reinterpret_cast<uint8_t*>(packed.data()))
                    .ValueOrDie());
  auto blobs = ParsePuffin(Puffin(packed, 1));
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  EXPECT_EQ((*blobs)[0].cardinality, 5);
  EXPECT_FALSE(ParsePuffin(Puffin(text, 1)).ok());
}

TEST(Puffin, RefusesBlobsOutsideOfTheFile) {
  for (const char* range :
       {R"("offset": 4, "length": 31)", R"("offset": 3, "length": 1)",
        R"("offset": 35, "length": 0)", R"("offset": 4, "length": -1)",
        R"("offset": 9223372036854775807, "length": 2)"}) {
    std::string footer = kFooter;
    footer.replace(footer.find(R"("offset": 4, "length": 30)"), 26, range);
    EXPECT_EQ(ParsePuffin(Puffin(footer, 0)).status().code(), StatusCode::kCorrupt)
        << range;
  }
}

TEST(Puffin, SurvivesDamage) {
  std::string file = Puffin(kFooter, 0);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ParsePuffin(file.substr(0, size)).ok());
  }
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    auto blobs = ParsePuffin(damaged);
    EXPECT_NE(blobs.status().code(), StatusCode::kInternal);
  }
}

}  // namespace
}  // namespace forebay::table::iceberg
