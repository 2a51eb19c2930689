#include "base/uri.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace forebay {
namespace {

std::string Parsed(std::string_view text) {
  auto uri = Uri::Parse(text);
  return uri.ok() ? uri->ToString() : uri.status().ToString();
}

TEST(Uri, SplitsSchemeAuthorityAndPath) {
  auto uri = Uri::Parse("S3://bucket/a/b c.parquet");
  ASSERT_TRUE(uri.ok());
  EXPECT_EQ(uri->scheme, "s3");
  EXPECT_EQ(uri->authority, "bucket");
  EXPECT_EQ(uri->path, "/a/b c.parquet");
}

TEST(Uri, TakesPlainPathsAsFiles) {
  EXPECT_EQ(Parsed("/data//x/../y"), "file:///data/y");
  EXPECT_EQ(Parsed("events"),
            "file://" + (std::filesystem::current_path() / "events").string());
  EXPECT_EQ(Parsed("/odd:name://x"), "file:///odd:name:/x");
}

TEST(Uri, SpellsOnePlaceOneWay) {
  struct Case {
    const char* text;
    const char* place;
  };
  for (auto [text, place] : std::initializer_list<Case>{
           {"/data/x y", "file:///data/x y"},
           {"//data/x", "file:///data/x"},
           {"/data/x/", "file:///data/x/"},
           {"/data/x//", "file:///data/x/"},
           {"file:/data/x y", "file:///data/x y"},
           {"FILE:/data/x", "file:///data/x"},
           {"local:/data/x", "file:///data/x"},
           {"local:///data/x", "file:///data/x"},
           {"file:///data/x", "file:///data/x"},
           {"file:////data/x", "file:///data/x"},
           {"file:///data/../x/", "file:///x/"},
           {"FILE:///data/x", "file:///data/x"},
           {"file://localhost/data/./x", "file:///data/x"},
           {"file://LOCALHOST/data/x", "file:///data/x"},
           {"file://", "file:///"},
           {"file:///", "file:///"},
           {"file:/data/%20", "file:///data/%20"},
           {"s3://b/k", "s3://b/k"},
           {"S3A://b/k/", "s3://b/k/"},
           {"s3n://b/a b%20", "s3://b/a b%20"},
           {"HDFS://name:8020/x", "hdfs://name:8020/x"},
       }) {
    EXPECT_EQ(Parsed(text), place) << text;
  }
}

TEST(Uri, SplitsATextWithoutMakingItAbsolute) {
  UriParts relative = SplitUri("a/b:c");
  EXPECT_EQ(relative.scheme, "");
  EXPECT_EQ(relative.path, "a/b:c");
  EXPECT_TRUE(relative.is_relative());
  EXPECT_FALSE(SplitUri("/a").is_relative());
  UriParts hadoop = SplitUri("hdfs:/warehouse/t");
  EXPECT_EQ(hadoop.scheme, "hdfs");
  EXPECT_EQ(hadoop.authority, "");
  EXPECT_EQ(hadoop.path, "/warehouse/t");
  // No scheme: it begins with a digit, or nothing absolute follows.
  EXPECT_TRUE(SplitUri("1a:/x").is_relative());
  EXPECT_TRUE(SplitUri("file:x").is_relative());
  EXPECT_TRUE(SplitUri(":/x").is_relative());
}

TEST(Uri, RefusesRelativePathsForServers) {
  for (const char* good : {"/x", "file:/x", "file:///x", "file://localhost/x", "s3a://b",
                           "iceberg+sqlite:///x/c.db/db.t", "forebay://h:1/n"}) {
    EXPECT_TRUE(CheckNotRelative(good).ok()) << good;
  }
  for (const char* bad : {"x", "./x", "../x", "file:x", "x/file://y", ""}) {
    EXPECT_EQ(CheckNotRelative(bad).code(), StatusCode::kInvalid) << bad;
  }
  EXPECT_EQ(CheckNotRelative("data/x").message(),
            "\"data/x\" is a relative path: give an absolute one, or a URI");
}

TEST(Uri, KnowsTwoSpellingsOfOnePlace) {
  for (const char* other : {"/data/x", "/data/x/", "file:/data/x",
                            "file:///data/y/../x//", "file://localhost/data/x"}) {
    EXPECT_TRUE(SamePlace("file:///data/x", other)) << other;
    EXPECT_TRUE(SamePlace(other, "file:///data/x")) << other;
  }
  EXPECT_TRUE(SamePlace("s3a://b/k", "s3://b/k/"));
  EXPECT_FALSE(SamePlace("/data/x", "/data/xy"));
  EXPECT_FALSE(SamePlace("s3://b/k", "s3://c/k"));
  EXPECT_FALSE(SamePlace("s3://b/k", "oss://b/k"));
  EXPECT_TRUE(SamePlace("iceberg+sqlite:///c.db/t", "iceberg+sqlite:///c.db/t"));
  EXPECT_FALSE(SamePlace("iceberg+sqlite:///c.db/t", "/c.db/t"));
}

TEST(Uri, NoticesPathsThatClimbUp) {
  auto climbs = [](std::string_view text) {
    UriParts parts = SplitUri(text);
    return ClimbsUp({parts.scheme, parts.authority, parts.path});
  };
  for (const char* up : {"s3://b/../x", "s3://b/x/..", "s3://b/..", "../x",
                         "http://h/%2e%2E/x", "https://h/x/.%2e"}) {
    EXPECT_TRUE(climbs(up)) << up;
  }
  for (const char* fine : {"s3://b/..x", "s3://b/x../y", "s3://b/%2e%2e/x",
                           "http://h/a%2eb", "s3://b/.../x", "/x"}) {
    EXPECT_FALSE(climbs(fine)) << fine;
  }
}

TEST(Uri, KeepsObjectKeysAsTheyAre) {
  // In an object store a//b and a/./b are names of their own.
  EXPECT_EQ(Parsed("s3://bucket/a//./b/../c%20d"), "s3://bucket/a//./b/../c%20d");
  EXPECT_EQ(Parsed("s3://bucket"), "s3://bucket");
}

TEST(Uri, RefusesWhatNamesNothing) {
  EXPECT_EQ(Uri::Parse("").status().code(), StatusCode::kInvalid);
  EXPECT_EQ(Uri::Parse(std::string_view("a\0b", 3)).status().code(),
            StatusCode::kInvalid);
  EXPECT_EQ(Parsed("s3:///key"),
            "invalid: the URI names no host or bucket, write s3://name/path: s3:///key");
  // One slash is a slip, not a folder called "s3:".
  EXPECT_EQ(Parsed("s3:/bucket/key"),
            "invalid: the URI names no host or bucket, write s3://name/path: "
            "s3:/bucket/key");
  EXPECT_EQ(Parsed("file://host/data"),
            "invalid: a file URI names no host, write file:///path: file://host/data");
}

TEST(Uri, KeepsSecretsOutOfItsErrors) {
  EXPECT_EQ(Parsed("s3:///key?secret_key=xyz").find("xyz"), std::string::npos);
  EXPECT_EQ(Parsed("file://me:xyz@host/data").find("xyz"), std::string::npos);
}

TEST(RedactUri, TakesOutCredentials) {
  EXPECT_EQ(RedactUri("s3://key:secret@bucket/path"), "s3://bucket/path");
  EXPECT_EQ(RedactUri("s3://key:se@cret@bucket"), "s3://bucket");
  EXPECT_EQ(RedactUri("s3://key:sec/re+t=@bucket/path"), "s3://bucket/path");
}

TEST(RedactUri, TakesOutValuesOfTheQuery) {
  EXPECT_EQ(RedactUri("https://h/x?X-Sig=abc&b=c=d&flag"),
            "https://h/x?X-Sig=...&b=...&flag");
}

TEST(RedactUri, LeavesTheRestAlone) {
  for (const char* text : {"/data/x", "s3://bucket/mail@home/x", "hdfs://name:8020/a@b/c",
                           "/data/part-?/day=1/x.parquet", "user@host", "http://h:80"}) {
    EXPECT_EQ(RedactUri(text), text);
  }
}

}  // namespace
}  // namespace forebay
