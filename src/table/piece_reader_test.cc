// Files broken at every place: an error that names the file, or the same number of rows.
#include <fmt/format.h>
#include <parquet/file_reader.h>

#include <cstdlib>
#include <random>

#include "base/size.h"
#include "table/capped_memory_pool.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

constexpr int64_t kCapBytes = 64 * kMiB;

// Another one with FOREBAY_SEED=…
uint32_t Seed() {
  const char* text = std::getenv("FOREBAY_SEED");
  return text == nullptr ? 20240607
                         : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

struct Format {
  std::string name;
  std::string bytes;
  bool has_checksums;
};

std::vector<Format> Formats() {
  auto people = People(0, 60);
  return {{"bad.parquet", WriteParquet(*people, 25), true},
          {"bad.arrow", WriteIpc(*people, {.batch_rows = 25}), false},
          {"bad.arrows", WriteIpc(*people, {.is_stream = true, .batch_rows = 25}), false},
          {"bad.orc", WriteOrc(*people), false}};
}

Result<TablePtr> ReadBytes(const std::string& name, const std::string& bytes) {
  CappedMemoryPool cap(kCapBytes);
  Sample sample;
  sample.plan.memory_pool = &cap;
  sample.decode.memory_pool = &cap;
  sample.plan.range_bytes = 512;
  sample.decode.deadline = Deadline::After(milliseconds(30'000));
  sample.Put(name, bytes);
  auto table = sample.Read();
  EXPECT_LE(cap.max_memory(), kCapBytes);
  if (!table.ok()) {
    EXPECT_NE(table.status().message().find(name), std::string::npos) << table.status();
    EXPECT_NE(table.status().code(), StatusCode::kInternal) << table.status();
    return table.status();
  }
  // The caller outlives the capped pool's buffers no longer than this.
  int64_t rows = (*table)->num_rows();
  *table = nullptr;
  return arrow::Table::Make(arrow::schema({}),
                            std::vector<std::shared_ptr<arrow::Array>>{}, rows);
}

TEST(PieceReader, TruncatedAnywhereIsAnError) {
  for (const Format& format : Formats()) {
    size_t step = std::max<size_t>(format.bytes.size() / 150, 1);
    for (size_t size = 0; size < format.bytes.size(); size += step) {
      auto got = ReadBytes(format.name, format.bytes.substr(0, size));
      // A stream may end behind any message, with or without an end marker.
      bool stream = format.name == "bad.arrows";
      EXPECT_TRUE(!got.ok() || (stream && (*got)->num_rows() <= 60))
          << format.name << " cut at " << size;
    }
  }
}

TEST(PieceReader, FlippedAnywhereNeverCrashes) {
  std::mt19937 random(Seed());
  SCOPED_TRACE(fmt::format("FOREBAY_SEED={}", Seed()));
  for (const Format& format : Formats()) {
    int undetected = 0, tried = 0;
    for (size_t at = 0; at < format.bytes.size(); at += 1 + random() % 4) {
      std::string bytes = format.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
      auto got = ReadBytes(format.name, bytes);
      ++tried;
      undetected += got.ok();
    }
    // What is left are flips in statistics, names and padding.
    if (format.has_checksums) {
      EXPECT_LT(undetected, tried * 6 / 10) << tried;
    }
  }
}

TEST(PieceReader, OverwrittenWithRandomBytesNeverCrashes) {
  std::mt19937 random(Seed() + 1);
  SCOPED_TRACE(fmt::format("FOREBAY_SEED={}", Seed()));
  for (const Format& format : Formats()) {
    for (int i = 0; i < 150; ++i) {
      std::string bytes = format.bytes;
      size_t at = random() % bytes.size();
      size_t count = std::min<size_t>(1 + random() % 64, bytes.size() - at);
      uint32_t kind = random() % 3;
      for (size_t k = 0; k < count; ++k) {
        bytes[at + k] = static_cast<char>(kind == 0 ? 0 : kind == 1 ? 0xFF : random());
      }
      (void)ReadBytes(format.name, bytes).ok();
    }
  }
}

TEST(PieceReader, ABrokenPageNamesFileRowGroupAndColumn) {
  auto people = People(0, 3000, 40);
  std::string good = WriteParquet(*people, 1000);
  Sample sample;
  auto metadata = parquet::ReadMetaData(
      std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(good)));
  auto names = metadata->RowGroup(1)->ColumnChunk(1);
  size_t middle = names->data_page_offset() - names->total_compressed_size() / 3;
  std::string bytes = good;
  bytes[middle] ^= 1;
  sample.Put("bad.parquet", bytes);
  auto got = sample.Read();
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::kCorrupt) << got.status();
  EXPECT_NE(got.status().message().find("bad.parquet, row group 1, column 'name'"),
            std::string::npos)
      << got.status();
  auto others = sample.Read({"id", "x"});
  EXPECT_TRUE(others.ok()) << others.status();
}

TEST(PieceReader, ADecompressionBombMeetsTheCap) {
  arrow::StringBuilder builder;
  for (int i = 0; i < 80; ++i) {
    ASSERT_TRUE(builder.Append(std::string(1 << 20, 'x')).ok());
  }
  auto table = arrow::Table::Make(arrow::schema({arrow::field("c", arrow::utf8())}),
                                  {*builder.Finish()});
  auto got = ReadBytes("bomb.arrow",
                       WriteIpc(*table, {.compression = arrow::Compression::ZSTD}));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::kFull) << got.status();
}

}  // namespace
}  // namespace forebay::table
