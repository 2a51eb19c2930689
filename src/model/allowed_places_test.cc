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
