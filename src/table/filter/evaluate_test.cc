// What property_test leaves out: the types that only plain tables have.
#include "table/filter/evaluate.h"

#include <arrow/api.h>
#include <arrow/util/float16.h>
#include <gtest/gtest.h>

#include <cmath>

#include "table/filter/bind.h"

namespace forebay::table::filter {
namespace {

struct PlainColumn {
  std::string format;
  std::shared_ptr<arrow::Array> array;
};

// Rows kept, as "0110"; or the error.
std::string Kept(const std::string& text, const PlainColumn& column) {
  model::Schema schema;
  schema.fields.resize(1);
  schema.fields[0].name = "x";
  schema.fields[0].format = column.format;
  auto parsed = Filter::Parse(text);
  if (!parsed.ok()) return parsed.status().ToString();
  auto bound = Bind(*parsed, schema);
  if (!bound.ok()) return bound.status().ToString();
  auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("x", column.array->type())}),
                               column.array->length(), {column.array});
  auto mask = Evaluate(*bound, *batch);
  if (!mask.ok()) return mask.status().ToString();
  std::string kept;
  for (int64_t i = 0; i < column.array->length(); ++i) {
    kept += ((*mask)[static_cast<size_t>(i / 64)] >> (i % 64) & 1) != 0 ? '1' : '0';
  }
  return kept;
}

template <typename ArrowType, typename T>
std::shared_ptr<arrow::Array> Make(const std::vector<T>& values,
                                   std::shared_ptr<arrow::DataType> type) {
  typename arrow::TypeTraits<ArrowType>::BuilderType builder(
      type, arrow::default_memory_pool());
  for (const T& value : values) EXPECT_TRUE(builder.Append(value).ok());
  EXPECT_TRUE(builder.AppendNull().ok());
  return *builder.Finish();
}

TEST(Evaluate, SmallIntegersAreComparedAsNumbersNotWrapped) {
  PlainColumn bytes{"c",
                    Make<arrow::Int8Type, int8_t>({-128, 0, 44, 127}, arrow::int8())};
  EXPECT_EQ(Kept("x < 300", bytes), "11110");
  EXPECT_EQ(Kept("x = 300", bytes), "00000");  // 300 is 44 in eight bits
  PlainColumn unsigned32{
      "I", Make<arrow::UInt32Type, uint32_t>({0, 4294967295u}, arrow::uint32())};
  EXPECT_EQ(Kept("x > 2147483648", unsigned32), "010");
  EXPECT_EQ(Kept("x < 0", unsigned32), "000");
}

TEST(Evaluate, UnsignedLongsGoBeyondSignedOnes) {
  PlainColumn longs{
      "L", Make<arrow::UInt64Type, uint64_t>(
               {0, 9223372036854775808u, 18446744073709551615u}, arrow::uint64())};
  EXPECT_EQ(Kept("x > 9223372036854775807", longs), "0110");
  EXPECT_EQ(Kept("x = 18446744073709551615", longs), "0010");
  EXPECT_EQ(Kept("x >= -1", longs), "1110");
}

TEST(Evaluate, HalfFloatsKnowNan) {
  auto bits = [](float value) { return arrow::util::Float16::FromFloat(value).bits(); };
  PlainColumn halves{
      "e", Make<arrow::HalfFloatType, uint16_t>(
               {bits(1.5f), bits(-0.0f), bits(std::nanf(""))}, arrow::float16())};
  EXPECT_EQ(Kept("x > 1", halves), "1010");
  EXPECT_EQ(Kept("x = 0", halves), "0100");
  EXPECT_EQ(Kept("x is nan", halves), "0010");
  EXPECT_EQ(Kept("x is not nan", halves), "1101");
}

TEST(Evaluate, NanIsInNoListOfNumbersHoweverLong) {
  PlainColumn doubles{"g", Make<arrow::DoubleType, double>({std::nan(""), 1, 20, -0.0},
                                                           arrow::float64())};
  EXPECT_EQ(Kept("x in (0, 1, 2, 3)", doubles), "01010");
  EXPECT_EQ(Kept("x in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)", doubles), "01010");
  EXPECT_EQ(Kept("x not in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)", doubles), "10100");
  EXPECT_EQ(Kept("x in (0, 1, 2, 3, 4, 5, 6, 7, 8, 'NaN')", doubles), "11010");
}

TEST(Evaluate, TimesOfAllUnits) {
  auto seconds = arrow::timestamp(arrow::TimeUnit::SECOND);
  PlainColumn coarse{"tss:", Make<arrow::TimestampType, int64_t>(
                                 {0, -1, 9'000'000'000'000'000'000}, seconds)};
  EXPECT_EQ(Kept("x < '1970-01-01T00:00:00.5'", coarse), "1100");
  EXPECT_EQ(Kept("x > '9999-12-31'", coarse), "0010");
  auto nanos = arrow::time64(arrow::TimeUnit::NANO);
  PlainColumn times{"ttn", Make<arrow::Time64Type, int64_t>({0, 1'000, 1'001}, nanos)};
  EXPECT_EQ(Kept("x = '00:00:00.000001'", times), "0100");
  EXPECT_EQ(Kept("x > '00:00:00.000001'", times), "0010");
  auto millis = arrow::time32(arrow::TimeUnit::MILLI);
  PlainColumn short_times{"ttm",
                          Make<arrow::Time32Type, int32_t>({0, 86'399'999}, millis)};
  EXPECT_EQ(Kept("x >= '23:59:59.999'", short_times), "010");
  PlainColumn dates{
      "tdm", Make<arrow::Date64Type, int64_t>({0, -1, 86'400'000}, arrow::date64())};
  EXPECT_EQ(Kept("x = '1970-01-01'", dates), "1000");
  EXPECT_EQ(Kept("x < '1970-01-01'", dates), "0100");
}

TEST(Evaluate, LargeStringsAndFixedBytes) {
  PlainColumn large{"U", Make<arrow::LargeStringType, std::string>({"", "abc", "b"},
                                                                   arrow::large_utf8())};
  EXPECT_EQ(Kept("x like 'a%' or x = ''", large), "1100");
  PlainColumn fixed{"w:2", Make<arrow::FixedSizeBinaryType, std::string>(
                               {"ab", "\xff\xff"}, arrow::fixed_size_binary(2))};
  EXPECT_EQ(Kept("x > X'6162'", fixed), "010");
}

TEST(Evaluate, DecimalsOfFewBits) {
  PlainColumn small{"d:4,1,32", Make<arrow::Decimal32Type, arrow::Decimal32>(
                                    {arrow::Decimal32(15), arrow::Decimal32(-20)},
                                    arrow::decimal32(4, 1))};
  EXPECT_EQ(Kept("x > 1.45", small), "100");
  EXPECT_EQ(Kept("x = -2", small), "010");
}

TEST(Evaluate, NullColumnsHaveOnlyNulls) {
  model::Schema schema;
  schema.fields.resize(1);
  schema.fields[0].name = "x";
  schema.fields[0].format = "i";
  auto bound = Bind(*Filter::Parse("x is null"), schema);
  auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("x", arrow::null())}),
                                        3, {std::make_shared<arrow::NullArray>(3)});
  auto mask = Evaluate(*bound, *batch);
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_EQ(mask->at(0), 7u);
}

TEST(Evaluate, SaysWhichColumnIsMissingOrOfAnotherType) {
  PlainColumn wrong{"l", Make<arrow::StringType, std::string>({"a"}, arrow::utf8())};
  std::string message = Kept("x > 1", wrong);
  EXPECT_NE(message.find("column=x type=long got=string"), std::string::npos) << message;
  model::Schema schema;
  schema.fields.resize(1);
  schema.fields[0].name = "y";
  schema.fields[0].format = "i";
  auto bound = Bind(*Filter::Parse("y = 1"), schema);
  auto batch = arrow::RecordBatch::Make(arrow::schema({}), 3, arrow::ArrayVector{});
  model::LiveRows live{.row_count = 3};
  Status status = bound->Apply(*batch, 0, &live);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("column=y"), std::string::npos) << status;
}

TEST(Evaluate, ChecksThatTheBatchLiesWithinTheFile) {
  auto bound = Bind(*Filter::Parse("false"), model::Schema());
  auto batch = arrow::RecordBatch::Make(arrow::schema({}), 3, arrow::ArrayVector{});
  model::LiveRows live{.row_count = 4};
  EXPECT_TRUE(bound->Apply(*batch, 1, &live).ok());
  EXPECT_EQ(live.Count(), 1u);
  EXPECT_EQ(bound->Apply(*batch, 2, &live).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace forebay::table::filter
