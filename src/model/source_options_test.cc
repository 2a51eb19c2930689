#include "model/source_options.h"

#include <gtest/gtest.h>

namespace forebay::model {
namespace {

std::string Said(const std::string& name) {
  return CheckOptions({{name, "x"}}).message();
}

TEST(SourceOptions, AreKnownByTheirWholeName) {
  for (const char* name :
       {"s3.endpoint", "client.region", "gcs.service.host", "adls.sas-token", "hdfs.user",
        "file.links", "http.ca-file", "token", "auth.oauth2.scope", "header.X-Mine",
        "forebay.tag", "forebay.ignore-summary", "forebay.remap.s3://old/",
        "forebay.remap.", "forebay.allow.0"}) {
    EXPECT_TRUE(CheckOptions({{name, "x"}}).ok()) << name;
  }
  for (const char* name : {"s3.endpoin", "s3.endpoint ", "S3.endpoint", "endpoint", "",
                           "header.", "forebay.allow.", "forebay.remap", "file.link",
                           "http.retries", "auth.google.key"}) {
    EXPECT_EQ(CheckOptions({{name, "x"}}).code(), StatusCode::kInvalid) << name;
  }
  EXPECT_TRUE(CheckOptions({}).ok());
}

TEST(SourceOptions, NameWhatWasProbablyMeant) {
  EXPECT_EQ(Said("s3.endpont"),
            "there is no option s3.endpont; did you mean s3.endpoint?");
  EXPECT_EQ(Said("S3.Region"), "there is no option S3.Region; did you mean s3.region?");
  EXPECT_EQ(Said("forebay.brnach"),
            "there is no option forebay.brnach; did you mean forebay.branch?");
  EXPECT_EQ(Said("file.something-else"),
            "there is no option file.something-else; there are file.links");
  EXPECT_EQ(Said("quite.another-thing"),
            "there is no option quite.another-thing; docs/sources.md and "
            "docs/iceberg.md list all");
}

TEST(SourceOptions, OfTablesAreNotForTreesOfFiles) {
  EXPECT_TRUE(CheckFilesOptions({{"s3.region", "x"}, {"catalog", "c"}}).ok());
  for (const char* name : {"forebay.filter", "forebay.allow.0", "forebay.remap.x"}) {
    EXPECT_EQ(CheckFilesOptions({{name, "x"}}).code(), StatusCode::kInvalid) << name;
    EXPECT_NE(CheckFilesOptions({{name, "x"}}).message().find("for tables"),
              std::string::npos);
  }
  EXPECT_EQ(CheckFilesOptions({{"s3.endpont", "x"}}).code(), StatusCode::kInvalid);
}

TEST(SourceOptions, OfCatalogsAndStoresAreToldApart) {
  EXPECT_TRUE(IsSourceOption("s3.endpoint"));
  EXPECT_TRUE(IsSourceOption("client.region"));
  EXPECT_FALSE(IsSourceOption("token"));
  EXPECT_FALSE(IsSourceOption("http.ca-file"));
  EXPECT_TRUE(IsCatalogOption("token"));
  EXPECT_TRUE(IsCatalogOption("header.Authorization"));
  EXPECT_FALSE(IsCatalogOption("header."));
  EXPECT_FALSE(IsCatalogOption("s3.endpoint"));
  EXPECT_FALSE(IsCatalogOption("auth.unknown"));
}

}  // namespace
}  // namespace forebay::model
