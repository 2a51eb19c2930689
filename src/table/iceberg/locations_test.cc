#include "table/iceberg/locations.h"

#include <gtest/gtest.h>

namespace forebay::table::iceberg {
namespace {

Locations Made(const std::string& uri, LocationOptions options = {}) {
  return Locations::Make(uri, std::move(options)).ValueOrDie();
}

std::string Resolved(const Locations& locations, std::string_view path) {
  auto uri = locations.Resolve(path);
  return uri.ok() ? *uri : std::string(StatusCodeName(uri.status().code()));
}

const std::string kPermission(StatusCodeName(StatusCode::kPermission));
const std::string kCorrupt(StatusCodeName(StatusCode::kCorrupt));

TEST(Locations, MakeEverySpellingOfALocalPathOne) {
  Locations table = Made("/data/t/metadata/v1.metadata.json");
  for (const char* path : {"/data/x", "file:/data/x", "file:///data/x",
                           "file://localhost/data/x", "FILE:///data/x"}) {
    EXPECT_EQ(Resolved(table, path), "file:///data/x") << path;
  }
  EXPECT_EQ(Resolved(Made("file:/data/t/v1.json"), "/else/where"), "file:///else/where");
}

TEST(Locations, LeaveOddCharactersAlone) {
  Locations local = Made("file:///t/v1.json");
  Locations bucket = Made("s3://b/t/v1.json");
  for (const char* name :
       {"p=%23x%3Fy", "p=h%2520i", "a b", "a#b?c=d&e", "日本", "p=..%2Fup", "a//b",
        "tab\there", "back\\slash", "...", "x:y"}) {
    EXPECT_EQ(Resolved(bucket, std::string("s3://b/t/") + name),
              std::string("s3://b/t/") + name);
    if (std::string_view(name) == "a//b") continue;  // one path in a file system
    EXPECT_EQ(Resolved(local, std::string("file:/t/") + name),
              std::string("file:///t/") + name);
  }
}

TEST(Locations, KeepInsideTheTablesOwnBucket) {
  Locations table = Made("s3a://lake/db/t/metadata/v1.json");
  EXPECT_EQ(Resolved(table, "s3://lake/imported/x"), "s3://lake/imported/x");
  EXPECT_EQ(Resolved(table, "s3n://lake/x"), "s3://lake/x");
  for (const char* path :
       {"s3://other/x", "file:///etc/passwd", "/etc/passwd", "file:/etc/passwd",
        "http://lake/x", "gs://lake/x", "s3://lake.evil/x", "s3://lake@evil/x"}) {
    EXPECT_EQ(Resolved(table, path), kPermission) << path;
  }
  EXPECT_EQ(Resolved(Made("/t/v1.json"), "s3://lake/x"), kPermission);
  EXPECT_NE(Resolved(Made("/t/v1.json"), "file://host/x"), "file:///x");
}

TEST(Locations, FollowNoDots) {
  Locations table = Made("s3://b/t/v1.json");
  EXPECT_EQ(Resolved(table, "s3://b/t/../u"), kPermission);
  EXPECT_EQ(Resolved(table, "s3://b/.."), kPermission);
  EXPECT_EQ(Resolved(Made("http://h/t/v1.json"), "http://h/t/%2E%2e/u"), kPermission);
  Locations moved = Made("/t/v1.json", {.remap = {{"/old", "/new"}}});
  EXPECT_EQ(Resolved(moved, "/old/../etc/passwd"), kPermission);
}

TEST(Locations, RefuseRelativeAndEmptyPaths) {
  Locations table = Made("/t/v1.json");
  EXPECT_EQ(Resolved(table, "data/x"), kCorrupt);
  EXPECT_EQ(Resolved(table, ""), kCorrupt);
  EXPECT_EQ(Resolved(table, std::string_view("/a\0b", 4)), kCorrupt);
}

TEST(Locations, RemapTheLongestPrefix) {
  Locations table =
      Made("s3://new/t/v1.json", {.remap = {{"s3://old/", "s3://new/"},
                                            {"s3://old/archive", "s3://cold/a/"},
                                            {"/warehouse/", "s3://new/w"},
                                            {"data/persistent", "file:///copy"},
                                            {"hdfs://nn:8020", "s3://new/h"}}});
  EXPECT_EQ(Resolved(table, "s3://old/x"), "s3://new/x");
  EXPECT_EQ(Resolved(table, "s3a://old/x"), "s3://new/x");
  EXPECT_EQ(Resolved(table, "s3://old/archive/x"), "s3://cold/a/x");
  EXPECT_EQ(Resolved(table, "s3://old/archives/x"), "s3://new/archives/x");
  EXPECT_EQ(Resolved(table, "s3://older/x"), kPermission);
  EXPECT_EQ(Resolved(table, "file:/warehouse/x"), "s3://new/w/x");
  EXPECT_EQ(Resolved(table, "data/persistent/x"), "file:///copy/x");
  EXPECT_EQ(Resolved(table, "hdfs://nn:8020/x"), "s3://new/h/x");
  Locations relative = Made("/t/v1.json", {.remap = {{"", "/base"}}});
  EXPECT_EQ(Resolved(relative, "data/x"), "file:///base/data/x");
  EXPECT_EQ(Resolved(relative, "/data/x"), "file:///data/x");
  EXPECT_EQ(Resolved(Made("/t/v1.json", {.remap = {{"/", "/m"}}}), "/x"), "file:///m/x");
}

TEST(Locations, TrustWhatTheUserAllows) {
  Locations table = Made("s3://b/t/v1.json",
                         {.remap = {}, .allowed = {"s3://shared/imports", "/data/"}});
  EXPECT_EQ(Resolved(table, "s3://shared/imports/x"), "s3://shared/imports/x");
  EXPECT_EQ(Resolved(table, "s3://shared/imports-2/x"), kPermission);
  EXPECT_EQ(Resolved(table, "file:/data/x"), "file:///data/x");
  EXPECT_EQ(Resolved(table, "/database/x"), kPermission);
}

TEST(Locations, FillInTheNameNodeThatOldWritersLeaveOut) {
  Locations table = Made("hdfs://nn:9870/t/v1.json");
  EXPECT_EQ(Resolved(table, "hdfs:/t/x"), "hdfs://nn:9870/t/x");
  EXPECT_EQ(Resolved(table, "hdfs:///t/x"), "hdfs://nn:9870/t/x");
  EXPECT_EQ(Resolved(table, "/t/x"), "hdfs://nn:9870/t/x");
  EXPECT_EQ(Resolved(table, "hdfs://other:9870/t/x"), kPermission);
}

}  // namespace
}  // namespace forebay::table::iceberg
