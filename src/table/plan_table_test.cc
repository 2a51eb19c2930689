#include "table/plan_table.h"

#include <arrow/json/from_string.h>
#include <fmt/format.h>

#include <set>

#include "base/size.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type,
                                   const std::string& json) {
  return *arrow::json::ArrayFromJSONString(type, json);
}

TablePtr Column(const std::string& name, const std::shared_ptr<arrow::DataType>& type,
                const std::string& json) {
  return arrow::Table::Make(arrow::schema({arrow::field(name, type)}),
                            {Json(type, json)});
}

TEST(PlanTable, JoinsSmallRowGroupsOfAFile) {
  Sample sample;
  sample.plan.range_bytes = 64 * kKiB;
  sample.Put("a.parquet", WriteParquet(*People(0, 10'000, 20), 100));
  auto manifest = *sample.Plan();
  // About 430 KiB in 100 row groups.
  EXPECT_GE(manifest->units().size(), 5u);
  EXPECT_LE(manifest->units().size(), 9u);
  EXPECT_EQ(manifest->ranges().size(), manifest->units().size());
  EXPECT_EQ(manifest->row_count(), 10'000u);
}

TEST(PlanTable, WideColumnsAreThoseLargeInARange) {
  Sample sample;
  sample.plan.range_bytes = 256 * kKiB;
  sample.plan.wide_bytes = 64 * kKiB;
  sample.Put("a.parquet", WriteParquet(*People(0, 10'000, 200)));
  auto manifest = *sample.Plan();
  EXPECT_FALSE(manifest->IsWide(0, 0));
  EXPECT_TRUE(manifest->IsWide(0, 1));
  EXPECT_FALSE(manifest->IsWide(0, 2));
}

// The content hashes of a table of tiny files.
std::set<Hash128> UnitsOf(Sample& sample) {
  auto manifest = *sample.Plan();
  std::set<Hash128> units;
  for (const auto& unit : manifest->units()) units.insert(unit.content);
  return units;
}

TEST(PlanTable, AnInsertedTinyFileMovesOnlyTheCutsNearIt) {
  Sample sample;
  sample.plan.range_bytes = 8 * kKiB;
  for (int i = 0; i < 400; ++i) {
    sample.Put(fmt::format("f{:04}.parquet", 2 * i), WriteParquet(*People(i, 20)));
  }
  auto before = UnitsOf(sample);
  EXPECT_GT(before.size(), 25u);
  EXPECT_LT(before.size(), 100u);
  sample.Put("f0101.parquet", WriteParquet(*People(7, 20)));
  auto after = UnitsOf(sample);
  size_t kept = 0;
  for (const Hash128& unit : before) kept += after.contains(unit);
  EXPECT_GE(kept + 6, before.size());
  EXPECT_LT(kept, before.size());
  auto all = sample.Read();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ((*all)->num_rows(), 401 * 20);
}

TEST(PlanTable, TenThousandTinyFilesGiveFewUnits) {
  Sample sample;
  ThreadPool pool(2);
  sample.plan.pool = &pool;
  std::string bytes = WriteParquet(*People(0, 3));
  for (int i = 0; i < 10'000; ++i) sample.Put(fmt::format("{:05}.parquet", i), bytes);
  auto manifest = sample.Plan();
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ((*manifest)->row_count(), 30'000u);
  EXPECT_GT((*manifest)->units().size(), 5u);
  EXPECT_LT((*manifest)->units().size(), 60u);
}

TEST(PlanTable, ReadsFootersOnly) {
  Sample sample;
  sample.Put("a.parquet", WriteParquet(*People(0, 50'000, 100)));
  sample.Put("b.parquet", WriteParquet(*People(0, 50'000, 100)));
  uint64_t before = sample.source->stats().bytes;
  ASSERT_TRUE(sample.Plan().ok());
  EXPECT_LE(sample.source->stats().bytes - before, 2 * 64 * kKiB);
}

TEST(PlanTable, FillsMissingColumnsWithNulls) {
  Sample sample;
  sample.Put("a.parquet", WriteParquet(*Column("a", arrow::int32(), "[1, 2]")));
  sample.Put("b.parquet", WriteParquet(*Column("b", arrow::utf8(), R"(["x"])")));
  auto got = sample.Read();
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectSameRows(*got,
                 arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int32()),
                                                   arrow::field("b", arrow::utf8())}),
                                    {Json(arrow::int32(), "[1, 2, null]"),
                                     Json(arrow::utf8(), R"([null, null, "x"])")}));
}

TEST(PlanTable, WidensTypesWithoutLoss) {
  struct Case {
    std::shared_ptr<arrow::DataType> a, b, common;
  };
  auto point = [](const auto& type) { return arrow::struct_({arrow::field("p", type)}); };
  for (const Case& c :
       std::vector<Case>{{arrow::int8(), arrow::int64(), arrow::int64()},
                         {arrow::uint8(), arrow::int8(), arrow::int16()},
                         {arrow::uint32(), arrow::int8(), arrow::int64()},
                         {arrow::float32(), arrow::float64(), arrow::float64()},
                         {arrow::int16(), arrow::float32(), arrow::float32()},
                         {arrow::int32(), arrow::float32(), arrow::float64()},
                         {arrow::null(), arrow::int32(), arrow::int32()},
                         {arrow::timestamp(arrow::TimeUnit::MILLI),
                          arrow::timestamp(arrow::TimeUnit::NANO),
                          arrow::timestamp(arrow::TimeUnit::NANO)},
                         {arrow::date32(), arrow::date64(), arrow::date64()}}) {
    Sample sample;
    std::string ones = c.a->id() == arrow::Type::NA ? "[null]" : "[1]";
    std::string twos = c.b->id() == arrow::Type::DATE64 ? "[86400000]" : "[2]";
    sample.Put("a.arrow", WriteIpc(*Column("c", c.a, ones)));
    sample.Put("b.arrow", WriteIpc(*Column("c", c.b, twos)));
    auto got = sample.Read();
    ASSERT_TRUE(got.ok()) << c.a->ToString() << c.b->ToString() << got.status();
    EXPECT_EQ((*got)->field(0)->type()->ToString(), c.common->ToString());
    EXPECT_EQ((*got)->num_rows(), 2);
  }
  Sample nested;
  nested.Put("a.arrow", WriteIpc(*Column("c", arrow::list(point(arrow::int8())),
                                         R"([[{"p": 1}], null])")));
  auto wide = arrow::struct_(
      {arrow::field("p", arrow::int32()), arrow::field("q", arrow::utf8())});
  nested.Put("b.arrow", WriteIpc(*Column("c", arrow::large_list(wide),
                                         R"([[{"p": 2, "q": "x"}]])")));
  auto got = nested.Read();
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectSameRows(*got, Column("c", arrow::large_list(wide),
                              R"([[{"p": 1, "q": null}], null, [{"p": 2, "q": "x"}]])"));
}

TEST(PlanTable, TypesWithNothingInCommonNameBothFilesAndTheColumn) {
  for (const auto& other : {arrow::utf8(), arrow::uint64(), arrow::boolean(),
                            arrow::timestamp(arrow::TimeUnit::NANO, "UTC")}) {
    Sample sample;
    sample.Put("a.arrow", WriteIpc(*Column("price", arrow::int64(), "[]")));
    sample.Put("b.arrow", WriteIpc(*Column("price", other, "[]")));
    auto plan = sample.Plan();
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), StatusCode::kInvalid);
    for (const char* part : {"'price'", "a.arrow", "b.arrow"}) {
      EXPECT_NE(plan.status().message().find(part), std::string::npos) << plan.status();
    }
  }
}

TEST(PlanTable, AColumnThatIsThereTwiceIsAnError) {
  auto schema = arrow::schema(
      {arrow::field("a", arrow::int64()), arrow::field("a", arrow::int64())});
  Sample sample;
  sample.Put("a.arrow",
             WriteIpc(*arrow::Table::Make(schema, {Int64s(0, 1), Int64s(0, 1)})));
  auto plan = sample.Plan();
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message().find("'a' is there twice"), std::string::npos);
}

TEST(PlanTable, AppendsPartitionColumns) {
  Sample sample;
  sample.Put("year=2023/c=a%2Fb/f.parquet", WriteParquet(*People(0, 2)));
  sample.Put("year=2024/c=__HIVE_DEFAULT_PARTITION__/f.parquet",
             WriteParquet(*People(2, 1)));
  auto got = sample.Read({"id", "year", "c"});
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectSameRows(
      *got, arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()),
                                              arrow::field("year", arrow::int32()),
                                              arrow::field("c", arrow::utf8())}),
                               {Int64s(0, 3), Json(arrow::int32(), "[2023, 2023, 2024]"),
                                Json(arrow::utf8(), R"(["a/b", "a/b", null])")}));
  auto only = sample.Read({"year"});
  ASSERT_TRUE(only.ok()) << only.status();
  EXPECT_EQ((*only)->num_rows(), 3);
}

TEST(PlanTable, TheFolderDecidesWhichPartitionNamesCount) {
  Sample sample;
  sample.Put("year=2023/month=1/f.parquet", WriteParquet(*People(0, 2)));
  auto outer = *sample.Plan();
  sample.uri += "/year=2023";
  auto inner = *sample.Plan();
  EXPECT_TRUE(outer->schema().Find("year"));
  EXPECT_FALSE(inner->schema().Find("year"));
  EXPECT_TRUE(inner->schema().Find("month"));
  // The same rows of the same object, but other partition values: other chunks.
  EXPECT_NE(outer->units()[0].content, inner->units()[0].content);
}

}  // namespace
}  // namespace forebay::table
