#include "table/iceberg/value.h"

#include <gtest/gtest.h>

#include <cmath>

#include "table/iceberg/calendar.h"
#include "table/iceberg/decimal.h"

namespace forebay::table::iceberg {
namespace {

Type Of(const char* text) { return ParsePrimitive(text).ValueOrDie(); }

TEST(Types, ParseAndPrintEveryName) {
  for (const char* name :
       {"boolean",        "int",     "long",      "float",       "double",
        "date",           "time",    "timestamp", "timestamptz", "timestamp_ns",
        "timestamptz_ns", "string",  "uuid",      "binary",      "fixed[16]",
        "decimal(9,2)",   "variant", "geometry",  "geography",   "unknown"}) {
    auto type = ParsePrimitive(name);
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_EQ(type->ToString(), name);
  }
  EXPECT_EQ(Of("decimal( 38 , 10 )").precision, 38);
  EXPECT_EQ(Of("fixed[ 4 ]").length, 4);
  EXPECT_EQ(Of("geometry(srid:4326)").id, TypeId::kGeometry);
  EXPECT_EQ(Of("geography(srid:4326, spherical)").id, TypeId::kGeography);
}

TEST(Types, RefuseWhatMakesNoSense) {
  for (const char* name : {"decimal(39,2)", "decimal(9)", "decimal(2,3)", "decimal(0,0)",
                           "fixed[-1]", "fixed[x]"}) {
    EXPECT_EQ(ParsePrimitive(name).status().code(), StatusCode::kCorrupt) << name;
  }
  EXPECT_EQ(ParsePrimitive("tensor").status().code(), StatusCode::kUnsupported);
}

TEST(Value, DecodesTheBinaryFormOfEveryType) {
  using namespace std::string_literals;
  auto decoded = [](const char* type, const std::string& bytes) {
    auto value = DecodeValue(Of(type), bytes);
    return value.ok() ? ToString(Of(type), *value) : value.status().ToString();
  };
  EXPECT_EQ(decoded("boolean", "\1"), "true");
  EXPECT_EQ(decoded("int", "\xff\xff\xff\xff"), "-1");
  EXPECT_EQ(decoded("long", "\x22\0\0\0\0\0\0\0"s), "34");
  EXPECT_EQ(decoded("long", "\x22\0\0\0"s), "34");
  EXPECT_EQ(decoded("float", "\0\0\x80\x3f"s), "1");
  EXPECT_EQ(decoded("double", "\0\0\0\0\0\0\xf8\xbf"s), "-1.5");
  EXPECT_EQ(decoded("double", "\0\0\x80\x3f"s), "1");
  EXPECT_EQ(decoded("date", "\xff\xff\xff\xff"), "1969-12-31");
  EXPECT_EQ(decoded("time", "\x40\x42\x0f\0\0\0\0\0"s), "00:00:01");
  EXPECT_EQ(decoded("timestamp", "\x01\0\0\0\0\0\0\0"s), "1970-01-01T00:00:00.000001");
  EXPECT_EQ(decoded("timestamp", "\x01\0\0\0"s), "1970-01-02T00:00:00");
  EXPECT_EQ(decoded("timestamptz", "\xff\xff\xff\xff\xff\xff\xff\xff"),
            "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(decoded("timestamp_ns", "\x01\0\0\0\0\0\0\0"s),
            "1970-01-01T00:00:00.000000001");
  EXPECT_EQ(decoded("decimal(9,2)", "\x05\x8c"s), "14.20");
  EXPECT_EQ(decoded("decimal(9,2)", "\xff"s), "-0.01");
  EXPECT_EQ(decoded("string", "it's"), "'it''s'");
  EXPECT_EQ(
      decoded("uuid", "\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7"),
      "f79c3e09-677c-4bbd-a479-3f349cb785e7");
  EXPECT_EQ(decoded("fixed[2]", "\x01\xff"), "X'01ff'");
  EXPECT_EQ(decoded("binary", ""), "X''");
}

TEST(Value, RefusesWrongSizes) {
  for (const char* type :
       {"boolean", "int", "long", "float", "double", "date", "time", "timestamp",
        "timestamptz", "timestamp_ns", "uuid", "fixed[2]", "decimal(9,2)"}) {
    EXPECT_EQ(DecodeValue(Of(type), "").status().code(), StatusCode::kCorrupt) << type;
    EXPECT_EQ(DecodeValue(Of(type), std::string(17, 'x')).status().code(),
              StatusCode::kCorrupt)
        << type;
  }
  // A timestamp with a zone was never a date.
  EXPECT_FALSE(DecodeValue(Of("timestamptz"), "1234").ok());
  // The year 5,881,580 has no nanoseconds in 64 bits.
  EXPECT_FALSE(DecodeValue(Of("timestamp_ns"), "\xff\xff\xff\x7f").ok());
}

TEST(Value, ReadsTheJsonFormOfEveryType) {
  auto read = [](const char* type, const char* json) {
    auto value = ValueFromJson(Of(type), json);
    return value.ok() ? ToString(Of(type), *value) : value.status().ToString();
  };
  EXPECT_EQ(read("boolean", "true"), "true");
  EXPECT_EQ(read("int", "34"), "34");
  EXPECT_EQ(read("long", "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(read("float", "1.1"), "1.1");
  EXPECT_EQ(read("double", "2"), "2");
  EXPECT_EQ(read("double", "\"NaN\""), "nan");
  EXPECT_EQ(read("decimal(9,2)", "\"14.20\""), "14.20");
  EXPECT_EQ(read("decimal(9,2)", "\"-14.2\""), "-14.20");
  EXPECT_EQ(read("decimal(38,0)", "\"2E+20\""), "200000000000000000000");
  EXPECT_EQ(read("date", "\"2017-11-16\""), "2017-11-16");
  EXPECT_EQ(read("date", "\"+12017-11-16\""), "+12017-11-16");
  EXPECT_EQ(read("time", "\"22:31:08.123456\""), "22:31:08.123456");
  EXPECT_EQ(read("timestamp", "\"2017-11-16T22:31:08.123456\""),
            "2017-11-16T22:31:08.123456");
  EXPECT_EQ(read("timestamptz", "\"2017-11-16T14:31:08-08:00\""), "2017-11-16T22:31:08Z");
  EXPECT_EQ(read("timestamp_ns", "\"2017-11-16T22:31:08.123456789\""),
            "2017-11-16T22:31:08.123456789");
  EXPECT_EQ(read("string", "\"ice\""), "'ice'");
  EXPECT_EQ(read("uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""),
            "f79c3e09-677c-4bbd-a479-3f349cb785e7");
  EXPECT_EQ(read("fixed[4]", "\"000102ff\""), "X'000102ff'");
  EXPECT_EQ(read("binary", "\"000102FF\""), "X'000102ff'");
  EXPECT_EQ(read("int", "null"), "null");
}

TEST(Value, RefusesJsonOfAnotherType) {
  const std::pair<const char*, const char*> kBad[] = {
      {"int", "2147483648"},
      {"int", "1.5"},
      {"long", "9223372036854775808"},
      {"boolean", "1"},
      {"decimal(4,2)", "\"100.00\""},
      {"decimal(4,2)", "\"1.001\""},
      {"date", "\"2017-02-29\""},
      {"date", "\"2017-13-01\""},
      {"time", "\"24:00:00\""},
      {"time", "\"10:00:00.0000001\""},
      {"timestamp", "\"2017-11-16T22:31:08+00:00\""},
      {"timestamptz", "\"2017-11-16T22:31:08\""},
      {"uuid", "\"f79c3e09677c4bbda4793f349cb785e7\""},
      {"fixed[2]", "\"00\""},
      {"binary", "\"0g\""},
      {"string", "{"},
  };
  for (const auto& [type, json] : kBad) {
    EXPECT_EQ(ValueFromJson(Of(type), json).status().code(), StatusCode::kCorrupt)
        << type << " " << json;
  }
}

TEST(Value, OrdersFloatsAndBytes) {
  Type real = Of("double");
  EXPECT_EQ(Compare(real, -0.0, 0.0), std::strong_ordering::equal);
  EXPECT_EQ(Compare(real, std::nan(""), HUGE_VAL), std::strong_ordering::greater);
  EXPECT_EQ(Compare(real, std::nan(""), std::nan("")), std::strong_ordering::equal);
  Type text = Of("string");
  EXPECT_EQ(Compare(text, std::string("z"), std::string("\xc3\xa9")),
            std::strong_ordering::less);
  EXPECT_EQ(Compare(text, std::string("ab"), std::string("abc")),
            std::strong_ordering::less);
  Type decimal = Of("decimal(38,0)");
  EXPECT_EQ(Compare(decimal, Int128{-1}, Int128{1} << 100), std::strong_ordering::less);
}

TEST(Calendar, GoesThereAndBackForEveryDayOfSixThousandYears) {
  int64_t first = DaysFromCivil({.year = -2000, .month = 1, .day = 1});
  int64_t last = DaysFromCivil({.year = 4000, .month = 12, .day = 31});
  CivilDate previous = CivilFromDays(first - 1);
  for (int64_t day = first; day <= last; ++day) {
    CivilDate date = CivilFromDays(day);
    ASSERT_EQ(DaysFromCivil(date), day);
    bool next_day = date.day == previous.day + 1 && date.month == previous.month;
    bool next_month = date.day == 1 && date.month == previous.month % 12 + 1;
    ASSERT_TRUE(next_day || next_month) << day;
    previous = date;
  }
  EXPECT_EQ(FormatDate(0), "1970-01-01");
  EXPECT_EQ(FormatTimestamp(-1, 1000), "1969-12-31T23:59:59.999");
  for (int64_t extreme : {INT64_MIN, INT64_MAX}) {
    EXPECT_FALSE(FormatDate(extreme).empty());
    EXPECT_FALSE(FormatTimestamp(extreme, 1'000'000).empty());
    EXPECT_FALSE(FormatTimestamp(extreme, 1'000'000'000).empty());
  }
  EXPECT_EQ(FormatDate(-719'528), "0000-01-01");
}

TEST(Decimal, KeepsTheFewestBytes) {
  for (Int128 value : {Int128{0}, Int128{127}, Int128{128}, Int128{-128}, Int128{-129},
                       Int128{1} << 120, -(Int128{1} << 126)}) {
    std::string bytes = DecimalToBytes(value);
    EXPECT_EQ(DecimalFromBytes(bytes), value);
  }
  EXPECT_EQ(DecimalToBytes(127).size(), 1U);
  EXPECT_EQ(DecimalToBytes(128).size(), 2U);
  EXPECT_EQ(DecimalToBytes(-128).size(), 1U);
  EXPECT_EQ(DecimalFromBytes(std::string(20, '\xff')), Int128{-1});
  EXPECT_FALSE(DecimalFromBytes("\x01" + std::string(16, '\0')).has_value());
  EXPECT_EQ(FormatDecimal(-5, 3), "-0.005");
}

}  // namespace
}  // namespace forebay::table::iceberg
