#include "table/iceberg/transform.h"

#include <gtest/gtest.h>

#include "table/iceberg/murmur3.h"

namespace forebay::table::iceberg {
namespace {

Type Of(const char* text) { return ParsePrimitive(text).ValueOrDie(); }

Value Json(const char* type, const std::string& json) {
  return ValueFromJson(Of(type), json).ValueOrDie();
}

std::string Applied(const char* transform, const char* type, const std::string& json) {
  Transform parsed = Transform::Parse(transform);
  Value value = parsed.Apply(Of(type), Json(type, json));
  return ToString(parsed.ResultType(Of(type)), value);
}

TEST(Transform, HashesAsTheSpecificationsExamples) {
  const std::tuple<const char*, const char*, int32_t> kExamples[] = {
      {"int", "34", 2017239379},
      {"long", "34", 2017239379},
      {"decimal(9,2)", "\"14.20\"", -500754589},
      {"date", "\"2017-11-16\"", -653330422},
      {"time", "\"22:31:08\"", -662762989},
      {"timestamp", "\"2017-11-16T22:31:08\"", -2047944441},
      {"timestamp", "\"2017-11-16T22:31:08.000001\"", -1207196810},
      {"timestamptz", "\"2017-11-16T14:31:08-08:00\"", -2047944441},
      {"timestamptz", "\"2017-11-16T14:31:08.000001-08:00\"", -1207196810},
      {"timestamp_ns", "\"2017-11-16T22:31:08\"", -2047944441},
      {"timestamp_ns", "\"2017-11-16T22:31:08.000001001\"", -1207196810},
      {"timestamptz_ns", "\"2017-11-16T14:31:08.000001001-08:00\"", -1207196810},
      {"string", "\"iceberg\"", 1210000089},
      {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"", 1488055340},
      {"fixed[4]", "\"00010203\"", -188683207},
      {"binary", "\"00010203\"", -188683207},
      {"boolean", "true", 1392991556},
      {"float", "1.0", -142385009},
      {"double", "1.0", -142385009},
      {"double", "0.0", 1669671676},
      {"double", "-0.0", 1669671676},
  };
  // The largest bucket count shows all bits that a bucket can show.
  Transform bucket = Transform::Parse("bucket[2147483647]");
  for (const auto& [type, json, hash] : kExamples) {
    int64_t expected = (hash & INT32_MAX) % INT32_MAX;
    EXPECT_EQ(bucket.Apply(Of(type), Json(type, json)), Value(expected)) << type << json;
  }
}

TEST(Transform, HashesTextsOfEveryLength) {
  EXPECT_EQ(Murmur3(""), 0U);
  EXPECT_EQ(Murmur3("a"), 0x3c2569b2U);
  EXPECT_EQ(Murmur3("ab"), 0x9bbfd75fU);
  EXPECT_EQ(Murmur3("abc"), 0xb3dd93faU);
  EXPECT_EQ(Murmur3("abcd"), 0x43ed676aU);
}

TEST(Transform, TruncatesAsTheSpecificationSays) {
  EXPECT_EQ(Applied("truncate[10]", "int", "1"), "0");
  EXPECT_EQ(Applied("truncate[10]", "int", "-1"), "-10");
  EXPECT_EQ(Applied("truncate[10]", "long", "-10"), "-10");
  EXPECT_EQ(Applied("truncate[50]", "decimal(9,2)", "\"10.65\""), "10.50");
  EXPECT_EQ(Applied("truncate[50]", "decimal(9,2)", "\"-10.65\""), "-11.00");
  EXPECT_EQ(Applied("truncate[3]", "string", "\"iceberg\""), "'ice'");
  EXPECT_EQ(Applied("truncate[3]", "string", "\"日本の雪\""), "'日本の'");
  EXPECT_EQ(Applied("truncate[2]", "string", "\"😀é!\""), "'😀é'");
  EXPECT_EQ(Applied("truncate[3]", "string", "\"ab\""), "'ab'");
  EXPECT_EQ(Applied("truncate[3]", "binary", "\"0102030405\""), "X'010203'");
}

TEST(Transform, RoundsTimesDownBeforeTheEpochToo) {
  EXPECT_EQ(Applied("year", "date", "\"1969-12-31\""), "-1");
  EXPECT_EQ(Applied("month", "date", "\"1969-12-31\""), "-1");
  EXPECT_EQ(Applied("day", "date", "\"1969-12-31\""), "1969-12-31");
  EXPECT_EQ(Applied("year", "timestamp", "\"2017-11-16T22:31:08\""), "47");
  EXPECT_EQ(Applied("month", "timestamp", "\"2017-11-16T22:31:08\""), "574");
  EXPECT_EQ(Applied("day", "timestamp", "\"2017-11-16T22:31:08\""), "2017-11-16");
  EXPECT_EQ(Applied("hour", "timestamp", "\"2017-11-16T22:31:08\""), "419686");
  EXPECT_EQ(Applied("hour", "timestamp", "\"1969-12-31T23:59:59.999999\""), "-1");
  EXPECT_EQ(Applied("day", "timestamptz", "\"1969-12-31T23:59:59.999999+00:00\""),
            "1969-12-31");
  EXPECT_EQ(Applied("year", "timestamp_ns", "\"1969-12-31T23:59:59.999999999\""), "-1");
  EXPECT_EQ(Applied("month", "timestamp_ns", "\"1970-02-01T00:00:00\""), "1");
}

TEST(Transform, KeepsNullsAndKnowsVoid) {
  for (const char* name : {"identity", "bucket[4]", "truncate[4]", "day", "void"}) {
    EXPECT_TRUE(IsNull(Transform::Parse(name).Apply(Of("date"), Value()))) << name;
  }
  EXPECT_TRUE(IsNull(Transform::Parse("void").Apply(Of("int"), Value(int64_t{1}))));
}

TEST(Transform, ReadsItsOwnNames) {
  for (const char* name : {"identity", "bucket[16]", "truncate[4]", "year", "month",
                           "day", "hour", "void"}) {
    EXPECT_EQ(Transform::Parse(name).ToString(), name);
  }
  for (const char* name : {"zorder", "bucket[0]", "bucket[-1]", "bucket", "bucket[1x]",
                           "truncate[99999999999]", ""}) {
    EXPECT_EQ(Transform::Parse(name).kind, TransformKind::kUnknown) << name;
  }
  EXPECT_EQ(Transform::Parse("day").ResultType(Of("timestamp")).id, TypeId::kDate);
  EXPECT_EQ(Transform::Parse("hour").ResultType(Of("timestamp")).id, TypeId::kInt);
  EXPECT_EQ(Transform::Parse("truncate[2]").ResultType(Of("string")).id, TypeId::kString);
}

}  // namespace
}  // namespace forebay::table::iceberg
