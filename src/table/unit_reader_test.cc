#include "table/unit_reader.h"

#include <fmt/format.h>

#include "base/size.h"
#include "table/capped_memory_pool.h"
#include "table/files/footer_cache.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

TEST(UnitReader, GivesEveryRowOfAParquetFile) {
  Sample sample;
  auto people = People(0, 1000);
  sample.Put("a.parquet", WriteParquet(*people, 300));
  auto got = sample.Read();
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectSameRows(*got, people);
}

TEST(UnitReader, SplitsOneLargeRowGroupIntoEvenRanges) {
  Sample sample;
  sample.plan.range_bytes = 16 * kKiB;
  auto people = People(0, 10'000, 20);
  sample.Put("a.parquet", WriteParquet(*people));
  auto manifest = sample.Plan();
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ((*manifest)->units().size(), 1u);
  EXPECT_GT((*manifest)->ranges().size(), 20u);
  EXPECT_LT((*manifest)->ranges().size(), 30u);
  for (size_t i = 1; i + 1 < (*manifest)->ranges().size(); ++i) {
    EXPECT_EQ((*manifest)->ranges()[i].row_count, (*manifest)->ranges()[0].row_count);
  }
  ExpectSameRows(*sample.Read(), people);
}

TEST(UnitReader, ReadsEveryFormatTheSame) {
  auto people = People(0, 5000, 12);
  std::vector<std::pair<std::string, std::string>> files = {
      {"a.parquet", WriteParquet(*people, 777)},
      {"a.arrow", WriteIpc(*people, {.batch_rows = 501})},
      {"a.feather", WriteIpc(*people, {.compression = arrow::Compression::LZ4_FRAME})},
      {"a.arrows", WriteIpc(*people, {.is_stream = true, .batch_rows = 501})},
      {"noextension", WriteIpc(*people, {.is_stream = true, .batch_rows = 333})},
      {"a.orc", WriteOrc(*people)},
      {"a.orc", WriteOrc(*people, 1024)}};
  for (const auto& [name, bytes] : files) {
    Sample sample;
    sample.plan.range_bytes = 20 * kKiB;
    sample.Put(name, bytes);
    auto got = sample.Read();
    ASSERT_TRUE(got.ok()) << name << ": " << got.status();
    ExpectSameRows(*got, people);
    auto some = sample.Read({"x", "id"});
    ASSERT_TRUE(some.ok()) << name << ": " << some.status();
    ExpectSameRows(*some, *people->SelectColumns({0, 2}));
  }
}

TEST(UnitReader, RangesDoNotDependOnTheProjection) {
  Sample sample;
  sample.plan.range_bytes = 20 * kKiB;
  sample.Put("a.parquet", WriteParquet(*People(0, 5000, 30), 1500));
  auto manifest = *sample.Plan();
  for (uint32_t unit = 0; unit < manifest->units().size(); ++unit) {
    auto narrow = sample.ReadUnit(manifest, unit, {0});
    auto wide = sample.ReadUnit(manifest, unit, {0, 1, 2});
    ASSERT_TRUE(narrow.ok() && wide.ok());
    ASSERT_EQ(narrow->size(), wide->size());
    for (size_t i = 0; i < narrow->size(); ++i) {
      EXPECT_TRUE((*narrow)[i]->column(0)->Equals((*wide)[i]->column(0)));
    }
  }
}

TEST(UnitReader, FetchesOnlyTheProjectedColumnsBytes) {
  auto people = People(0, 20'000, 200);
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"a.parquet", WriteParquet(*people, 5000)},
           {"a.arrow", WriteIpc(*people, {.batch_rows = 5000})},
           {"a.orc", WriteOrc(*people)}}) {
    Sample sample;
    ThreadPool pool(2);
    FooterCache footers;
    sample.decode.pool = &pool;
    sample.decode.footers = &footers;
    sample.Put(name, bytes);
    auto manifest = *sample.Plan();
    uint64_t before = sample.source->stats().bytes;
    ASSERT_TRUE(sample.ReadUnit(manifest, 0, {0}).ok());
    uint64_t narrow = sample.source->stats().bytes - before;
    EXPECT_LT(narrow, 400u * kKiB) << name << " of " << bytes.size();
    EXPECT_GT(narrow, 0u);
    before = sample.source->stats().bytes;
    ASSERT_TRUE(sample.ReadUnit(manifest, 0, {0, 1, 2}).ok());
    EXPECT_GT(sample.source->stats().bytes - before, 2 * narrow) << name;
  }
}

TEST(UnitReader, AFooterCacheSavesReadingTheFooterAgain) {
  Sample sample;
  FooterCache footers;
  sample.decode.footers = &footers;
  sample.plan.range_bytes = 64 * kKiB;
  sample.Put("a.parquet", WriteParquet(*People(0, 20'000, 50), 2000));
  auto manifest = *sample.Plan();
  ASSERT_GE(manifest->units().size(), 2u);
  ASSERT_TRUE(sample.ReadUnit(manifest, 0, {0}).ok());
  uint64_t before = sample.source->stats().requests;
  ASSERT_TRUE(sample.ReadUnit(manifest, 1, {0}).ok());
  EXPECT_EQ(sample.source->stats().requests - before, 1u);
}

TEST(UnitReader, ReadsAProjectionOfNoColumns) {
  Sample sample;
  sample.Put("a.parquet", WriteParquet(*People(0, 100)));
  auto batches = sample.ReadUnit(*sample.Plan(), 0, {});
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ((*batches)[0]->num_rows(), 100);
  EXPECT_EQ((*batches)[0]->num_columns(), 0);
}

TEST(UnitReader, ReadsFilesWithoutRowsOrColumns) {
  for (bool parquet : {true, false}) {
    Sample sample;
    auto none = People(0, 0);
    sample.Put("a." + std::string(parquet ? "parquet" : "arrow"),
               parquet ? WriteParquet(*none) : WriteIpc(*none));
    auto got = sample.Read();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ((*got)->num_rows(), 0);
    EXPECT_EQ((*got)->num_columns(), 3);
  }
  Sample empty;
  empty.Put("a.parquet",
            WriteParquet(*arrow::Table::Make(
                arrow::schema({}), std::vector<std::shared_ptr<arrow::Array>>{}, 0)));
  auto got = empty.Read();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)->num_columns(), 0);
}

TEST(UnitReader, AMemoryCapIsANamedErrorAndNotACrash) {
  Sample sample;
  sample.Put("big.parquet", WriteParquet(*People(0, 100'000, 100)));
  auto manifest = *sample.Plan();
  CappedMemoryPool small(2 * kMiB);
  sample.decode.memory_pool = &small;
  auto got = sample.ReadUnit(manifest, 0, {0, 1, 2});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::kFull) << got.status();
  EXPECT_NE(got.status().message().find("big.parquet"), std::string::npos);
  EXPECT_LE(small.max_memory(), int64_t(2 * kMiB));
  EXPECT_EQ(small.bytes_allocated(), 0);
}

TEST(UnitReader, StreamsALargeRowGroupUnderASmallCap) {
  Sample sample;
  sample.plan.range_bytes = 256 * kKiB;
  // About 40 MB decoded in one row group.
  sample.Put("big.parquet", WriteParquet(*People(0, 300'000, 120)));
  auto manifest = *sample.Plan();
  ASSERT_EQ(manifest->units().size(), 1u);
  CappedMemoryPool cap(24 * kMiB);
  sample.decode.memory_pool = &cap;
  auto reader = OpenUnit(sample.source, manifest, 0, {0, 1, 2}, sample.decode);
  ASSERT_TRUE(reader.ok()) << reader.status();
  int64_t rows = 0;
  while (true) {
    auto batch = (*reader)->Next();
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (*batch == nullptr) break;
    rows += (*batch)->num_rows();
  }
  EXPECT_EQ(rows, 300'000);
}

TEST(UnitReader, ReadsARowGroupLargerThanItsCapThroughBuffers) {
  constexpr int64_t kRows = 9'000'000;  // 72 MB that do not compress
  arrow::Int64Builder builder;
  ASSERT_TRUE(builder.Reserve(kRows).ok());
  uint64_t state = 1;
  auto next = [&] {
    return static_cast<int64_t>(state = state * 6364136223846793005 + 1);
  };
  for (int64_t i = 0; i < kRows; ++i) builder.UnsafeAppend(next());
  Sample sample;
  sample.Put(
      "big.parquet",
      WriteParquet(*arrow::Table::Make(arrow::schema({arrow::field("c", arrow::int64())}),
                                       {*builder.Finish()}),
                   kRows));
  CappedMemoryPool cap(48 * kMiB);
  sample.decode.memory_pool = &cap;
  auto reader = OpenUnit(sample.source, *sample.Plan(), 0, {0}, sample.decode);
  ASSERT_TRUE(reader.ok()) << reader.status();
  state = 1;
  int64_t rows = 0, wrong = 0;
  while (true) {
    auto batch = (*reader)->Next();
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (*batch == nullptr) break;
    const auto& values = static_cast<const arrow::Int64Array&>(*(*batch)->column(0));
    for (int64_t i = 0; i < values.length(); ++i) wrong += values.Value(i) != next();
    rows += values.length();
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(wrong, 0);
}

TEST(UnitReader, EndsByItsDeadline) {
  Sample sample;
  sample.Put("a.parquet", WriteParquet(*People(0, 1000)));
  auto manifest = *sample.Plan();
  sample.decode.deadline = Deadline::After(milliseconds(0));
  auto got = sample.ReadUnit(manifest, 0, {0});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::kDeadline) << got.status();
}

TEST(UnitReader, AnObjectThatChangedIsNamed) {
  Sample sample;
  sample.Put("a.parquet", WriteParquet(*People(0, 1000)));
  auto manifest = *sample.Plan();
  sample.Put("a.parquet", WriteParquet(*People(5, 1000)));
  auto got = sample.ReadUnit(manifest, 0, {0});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::kChanged) << got.status();
}

}  // namespace
}  // namespace forebay::table
