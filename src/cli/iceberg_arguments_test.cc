#include "cli/iceberg_arguments.h"

#include <gtest/gtest.h>

namespace forebay::cli {
namespace {

TEST(Instant, ParsesWhatPeopleWrite) {
  const std::pair<const char*, int64_t> table[] = {
      {"1970-01-01", 0},
      {"2026-10-01T00:00:00Z", 1'790'812'800'000},
      {"2026-10-01 00:00", 1'790'812'800'000},
      {"2026-10-01T02:00:00.0+02:00", 1'790'812'800'000},
      {"2026-09-30T17:00:00-0700", 1'790'812'800'000},
      {"2026-10-01T00:00:00.123456", 1'790'812'800'123},
      {"1790812800000", 1'790'812'800'000},
      {"1969-12-31T23:59:59.999z", -1},
  };
  for (const auto& [text, ms] : table) {
    EXPECT_EQ(ParseInstant(text).ValueOrDie(), ms) << text;
  }
}

TEST(Instant, RefusesWhatIsNone) {
  for (const char* text :
       {"", "now", "2026-13-01", "2026-02-30", "2026-10-01T", "2026-10-01T25:00",
        "2026-10-01T00:00:00.", "2026-10-01T00:00 Europe/Berlin", "2026-1-1",
        "2026-10-01T00:00+99:00", "12ms"}) {
    EXPECT_EQ(ParseInstant(text).status().code(), StatusCode::kInvalid) << text;
  }
}

TEST(IcebergArguments, BecomeOptions) {
  IcebergArguments arguments;
  arguments.snapshot = "123";
  arguments.filter = "x = 1";
  arguments.remaps = {"s3://a/=s3://b/=", "file:///x=/y"};
  arguments.allowed = {"s3://c/", "s3://d/"};
  arguments.catalog = "prod";
  arguments.warehouse = "w";
  EXPECT_EQ(IcebergOptions(arguments).ValueOrDie(),
            (std::map<std::string, std::string>{{"forebay.snapshot", "123"},
                                                {"forebay.filter", "x = 1"},
                                                {"forebay.remap.s3://a/", "s3://b/="},
                                                {"forebay.remap.file:///x", "/y"},
                                                {"forebay.allow.0", "s3://c/"},
                                                {"forebay.allow.1", "s3://d/"},
                                                {"catalog", "prod"},
                                                {"warehouse", "w"}}));
  EXPECT_TRUE(IcebergOptions({}).ValueOrDie().empty());
}

TEST(IcebergArguments, RefuseWhatContradicts) {
  IcebergArguments two;
  two.tag = "gold";
  two.as_of = "2026-10-01";
  EXPECT_EQ(IcebergOptions(two).status().code(), StatusCode::kInvalid);
  two.tag = "";
  EXPECT_EQ(IcebergOptions(two).ValueOrDie().at("forebay.as-of"), "1790812800000");
  IcebergArguments name;
  name.snapshot = "gold";
  EXPECT_EQ(IcebergOptions(name).status().code(), StatusCode::kInvalid);
  for (const char* remap : {"x", "=x", "x="}) {
    IcebergArguments wrong;
    wrong.remaps = {remap};
    EXPECT_EQ(IcebergOptions(wrong).status().code(), StatusCode::kInvalid) << remap;
  }
  IcebergArguments twice;
  twice.remaps = {"a=b", "a=c"};
  EXPECT_EQ(IcebergOptions(twice).status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::cli
