#include "model/allowed_places.h"

#include <gtest/gtest.h>

namespace forebay::model {
namespace {

TEST(AllowedPlaces, AreAllWhereNoneIsNamed) {
  EXPECT_TRUE(AllowedPlaces().Check("s3://any/where").ok());
}

TEST(AllowedPlaces, AreThoseBelowAPrefixAndCannotBeLeft) {
  AllowedPlaces places({"s3://lake/", "file:///data/"});
  EXPECT_TRUE(places.Check("s3://lake/events").ok());
  EXPECT_TRUE(places.Check("/data/events").ok());
  for (const char* uri :
       {"s3://lakes/events", "s3://lake/../other", "/data/..", "/etc"}) {
    EXPECT_EQ(places.Check(uri).code(), StatusCode::kPermission) << uri;
  }
}

TEST(AllowedPlaces, AreTheSameHoweverTheyAreSpelled) {
  for (const char* prefix : {"/data", "/data/", "file:/data", "file:///data/",
                             "file://localhost/data", "/data/x/.."}) {
    AllowedPlaces places({prefix});
    for (const char* uri : {"/data", "/data/", "/data/x", "file:/data/x",
                            "file:///data/x", "file://localhost/data/x"}) {
      EXPECT_TRUE(places.Check(uri).ok()) << prefix << " " << uri;
    }
    for (const char* uri :
         {"/database", "/data-secret/x", "file:/etc", "/", "s3://data"}) {
      EXPECT_EQ(places.Check(uri).code(), StatusCode::kPermission)
          << prefix << " " << uri;
    }
  }
  AllowedPlaces bucket({"s3a://lake"});
  EXPECT_TRUE(bucket.Check("s3://lake/x").ok());
  EXPECT_TRUE(bucket.Check("s3n://lake").ok());
  EXPECT_EQ(bucket.Check("s3://lake-house/x").code(), StatusCode::kPermission);
  EXPECT_TRUE(AllowedPlaces({"/"}).Check("/any/where").ok());
}

TEST(AllowedPlaces, MayBeAllOfAScheme) {
  AllowedPlaces places({"s3://"});
  EXPECT_TRUE(places.Check("s3://any/where").ok());
  EXPECT_TRUE(places.Check("s3a://any").ok());
  EXPECT_EQ(places.Check("/any").code(), StatusCode::kPermission);
  EXPECT_EQ(places.Check("s3://any/../x").code(), StatusCode::kPermission);
}

TEST(AllowedPlaces, AreNotLeftByDotsInPercentCode) {
  AllowedPlaces places({"https://host/data"});
  EXPECT_TRUE(places.Check("https://host/data/x").ok());
  EXPECT_EQ(places.Check("https://host/data/%2e%2E/x").code(), StatusCode::kPermission);
}

TEST(AllowedPlaces, HoldForServersThatOptionsName) {
  AllowedPlaces places({"s3://lake/", "https://catalog/"});
  EXPECT_TRUE(places.Check("s3://lake/t", {{"uri", "https://catalog/v1"}}).ok());
  for (const char* name : {"uri", "oauth2-server-uri"}) {
    auto status = places.Check("s3://lake/t", {{name, "https://elsewhere/"}});
    EXPECT_EQ(status.code(), StatusCode::kPermission) << name;
  }
}

}  // namespace
}  // namespace forebay::model
