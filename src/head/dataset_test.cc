#include "head/dataset.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace forebay::head {
namespace {

Dataset Secretive() {
  return {.name = "events",
          .source = "https://me:pa55@host/x?sig=s1gn",
          .options = {{"s3.endpoint", "http://me:pw0@h:9000"},
                      {"s3.access-key-id", "k3y"},
                      {"s3.secret-access-key", "s3cret"},
                      {"credential", "cl1ent:abc"},
                      {"of-a-later-release", "h1dden"},
                      {"forebay.tag", "prod"}},
          .columns = {"id", "emb"},
          .replicas = 2,
          .version = std::string(32, 'a')};
}

TEST(Dataset, IsTheSameAfterJson) {
  Dataset again = ParseDataset(DatasetJson(Secretive())).ValueOrDie();
  EXPECT_EQ(DatasetJson(again), DatasetJson(Secretive()));
  EXPECT_EQ(again.options.at("s3.secret-access-key"), "s3cret");
  EXPECT_EQ(again.replicas, 2U);
}

TEST(Dataset, ShowsNoSecret) {
  std::string shown = ShownDataset(Secretive()).dump();
  for (const char* secret :
       {"pa55", "s1gn", "pw0", "k3y", "s3cret", "cl1ent", "abc", "h1dden"}) {
    EXPECT_EQ(shown.find(secret), shown.npos) << secret << " in " << shown;
  }
  for (const char* plain : {"events", "h:9000", "s3.secret-access-key", "prod", "emb"}) {
    EXPECT_NE(shown.find(plain), shown.npos) << plain << " in " << shown;
  }
}

TEST(Dataset, NeedsANameASourceAndSaneReplicas) {
  EXPECT_TRUE(ParseDataset(R"({"name":"a.b-c_1","source":"/x"})").ok());
  for (const char* bad :
       {R"({"source":"/x"})", R"({"name":"a"})", R"({"name":"a/b","source":"/x"})",
        R"({"name":"..","source":"/x"})", R"({"name":"a","source":""})",
        R"({"name":"a","source":"/x","replicas":0})",
        R"({"name":"a","source":"/x","replicas":17})",
        R"({"name":"a","source":"/x","replicas":"2"})",
        R"({"name":"a","source":"/x","options":[]})",
        R"({"name":"a","source":"/x","options":{"k":1}})",
        R"({"name":"a","source":"/x","columns":"id"})", "[]", "no"}) {
    EXPECT_EQ(ParseDataset(bad).status().code(), StatusCode::kInvalid) << bad;
  }
}

TEST(Dataset, HasASourceThatMeansTheSameEverywhere) {
  EXPECT_TRUE(CheckSource("/x/*.parquet").ok());
  EXPECT_TRUE(CheckSource("s3://b/x").ok());
  for (const char* bad : {"x", "./x", "../x/*.parquet"}) {
    EXPECT_EQ(CheckSource(bad).code(), StatusCode::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace forebay::head
