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
  EXPECT_EQ(Parsed("local:///data/x"), "file:///data/x");
  EXPECT_EQ(Parsed("file://localhost/data/./x"), "file:///data/x");
  EXPECT_EQ(Parsed("FILE:///data/x"), "file:///data/x");
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
  EXPECT_EQ(Parsed("s3:///key"), "invalid: the URI names no host or bucket: s3:///key");
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

TEST(Uri, ReadsLocalPathsAsHadoopWritesThem) {
  auto uri = Uri::Parse("file:/data/x y/%20");
  ASSERT_TRUE(uri.ok());
  EXPECT_EQ(uri->ToString(), "file:///data/x y/%20");
}

}  // namespace
}  // namespace forebay
