#include "table/filter/file_filter.h"

#include <gtest/gtest.h>

#include "table/filter/bind.h"
#include "table/filter/reference_filter.h"

namespace forebay::table::filter {
namespace {

using iceberg::DataFile;
using iceberg::PartitionSpec;
using iceberg::Transform;

IcebergFileFilter Make(const std::string& text, std::vector<PartitionSpec> specs) {
  auto parsed = Filter::Parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  auto bound = Bind(*parsed, TestSchema(TestColumns()));
  EXPECT_TRUE(bound.ok()) << bound.status();
  return {*bound, specs};
}

PartitionSpec Spec(int32_t id, int32_t source, const std::string& transform) {
  return {id, {{source, 1000, "p", Transform::Parse(transform)}}};
}

DataFile File(int32_t spec_id, Value partition) {
  DataFile file;
  file.spec_id = spec_id;
  file.partition = {std::move(partition)};
  file.record_count = 10;
  return file;
}

TEST(FileFilter, KeepsOneDayOfAYear) {
  auto filter = Make("ts >= '2026-10-01' and ts < '2026-10-02'", {Spec(0, 8, "day")});
  int64_t day = *iceberg::ParseDate("2026-10-01");
  int may = 0;
  int must = 0;
  for (int64_t d = day - 180; d < day + 185; ++d) {
    may += filter.MayMatch(File(0, Value(d))) ? 1 : 0;
    must += filter.MustMatch(File(0, Value(d))) ? 1 : 0;
  }
  EXPECT_EQ(may, 1);
  EXPECT_EQ(must, 1);
}

TEST(FileFilter, LooksUpTheBucketsOfEqualities) {
  auto filter = Make("l in (34, 17)", {Spec(0, 2, "bucket[16]")});
  auto bucket = [](int64_t value) {
    Type type{.id = TypeId::kLong};
    return std::get<int64_t>(Transform::Parse("bucket[16]").Apply(type, Value(value)));
  };
  for (int64_t b = 0; b < 16; ++b) {
    EXPECT_EQ(filter.MayMatch(File(0, Value(b))), b == bucket(34) || b == bucket(17));
    EXPECT_FALSE(filter.MustMatch(File(0, Value(b))));
  }
  EXPECT_FALSE(filter.MayMatch(File(0, Value())));
}

TEST(FileFilter, NeighboursOfATruncatedStringAreSkipped) {
  auto filter = Make("s = 'bc'", {Spec(0, 11, "truncate[1]")});
  EXPECT_FALSE(filter.MayMatch(File(0, Value("a"))));
  EXPECT_TRUE(filter.MayMatch(File(0, Value("b"))));
  EXPECT_FALSE(filter.MayMatch(File(0, Value("c"))));
  auto prefix = Make("s like 'b%'", {Spec(0, 11, "truncate[1]")});
  EXPECT_FALSE(prefix.MayMatch(File(0, Value("a"))));
  EXPECT_TRUE(prefix.MustMatch(File(0, Value("b"))));
}

TEST(FileFilter, EachFileIsJudgedByItsOwnSpec) {
  auto filter = Make("day = '1970-01-05'", {Spec(0, 6, "month"), Spec(1, 6, "day")});
  EXPECT_TRUE(filter.MayMatch(File(0, Value(int64_t{0}))));
  EXPECT_FALSE(filter.MayMatch(File(0, Value(int64_t{4}))));
  EXPECT_TRUE(filter.MustMatch(File(1, Value(int64_t{4}))));
  EXPECT_FALSE(filter.MayMatch(File(1, Value(int64_t{5}))));
}

TEST(FileFilter, ConcludesNothingFromWhatItDoesNotKnow) {
  auto filter = Make("i = 5", {Spec(0, 1, "hilbert[3]"), Spec(1, 1, "void")});
  EXPECT_TRUE(filter.MayMatch(File(0, Value(int64_t{99}))));
  EXPECT_TRUE(filter.MayMatch(File(1, Value())));
  EXPECT_TRUE(filter.MayMatch(File(7, Value(int64_t{99}))));  // a spec nobody wrote down
  DataFile bare = File(0, Value());
  bare.partition.clear();
  EXPECT_TRUE(filter.MayMatch(bare));
  iceberg::ManifestFile manifest;
  EXPECT_TRUE(filter.MayMatch(manifest));
}

TEST(FileFilter, IgnoresValuesAndBoundsOfAWrongKind) {
  auto filter = Make("i = 5", {Spec(0, 1, "identity")});
  EXPECT_TRUE(filter.MayMatch(File(0, Value("text"))));
  EXPECT_TRUE(filter.MayMatch(File(0, Value(2.5))));
  DataFile file = File(7, Value());
  file.lower_bounds = {{1, "123"}};
  file.upper_bounds = {{1, "1234567"}};
  EXPECT_TRUE(filter.MayMatch(file));
}

TEST(FileFilter, ReadsBoundsOfColumnsThatWereDates) {
  auto filter = Make("ts = '1970-01-05T12:00:00'", {});
  DataFile file = File(0, Value());
  auto days = [](char count) { return std::string{count, 0, 0, 0}; };
  file.lower_bounds = {{8, days(1)}};
  file.upper_bounds = {{8, days(5)}};
  EXPECT_TRUE(filter.MayMatch(file));
  file.upper_bounds = {{8, days(4)}};
  EXPECT_FALSE(filter.MayMatch(file));
}

TEST(FileFilter, NanMayHideBehindBounds) {
  auto filter = Make("d > 5", {});
  DataFile file = File(0, Value());
  file.upper_bounds = {{4, std::string(8, '\0')}};  // 0.0
  EXPECT_TRUE(filter.MayMatch(file));
  file.nan_counts = {{4, 0}};
  EXPECT_FALSE(filter.MayMatch(file));
}

TEST(FileFilter, ContradictingMetadataSkipsNothing) {
  auto filter = Make("i is null", {Spec(0, 1, "identity")});
  DataFile file = File(0, Value(int64_t{1}));  // never null, says the partition
  file.null_counts = {{1, 10}};                // always null, say the counts
  EXPECT_FALSE(filter.MayMatch(file));         // the partition alone decides
  auto other = Make("l is null", {});
  DataFile odd = File(0, Value());
  odd.null_counts = {{2, 10}};
  odd.nan_counts = {{2, 10}};
  EXPECT_TRUE(other.MayMatch(odd));
}

TEST(FileFilter, HostileNumbersDoNotOverflow) {
  for (const char* transform : {"year", "month", "day", "hour", "truncate[2147483647]"}) {
    for (int64_t value : {INT64_MIN, INT64_MAX, int64_t{INT32_MAX}, int64_t{INT32_MIN}}) {
      for (const char* text : {"ts > '2026-10-01'", "day < '2026-10-01'", "i = 5"}) {
        for (int32_t source : {1, 6, 8}) {
          auto filter = Make(text, {Spec(0, source, transform)});
          filter.Judge(File(0, Value(value)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace forebay::table::filter
