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
  EXPECT_TRUE(CheckSource("s3a://b/x").ok());
  EXPECT_TRUE(CheckSource("file:/x").ok());
  EXPECT_TRUE(CheckSource("file://localhost/x").ok());
  for (const char* bad : {"x", "./x", "../x/*.parquet", "file:x"}) {
    EXPECT_EQ(CheckSource(bad).code(), StatusCode::kInvalid) << bad;
  }
}

TEST(Dataset, IsAskedForWithoutAnythingUnknown) {
  EXPECT_TRUE(ParseNewDataset(R"({"name":"a","source":"/x","kind":"table",
                                  "options":{},"columns":[],"replicas":16})")
                  .ok());
  auto said = [](const char* json) {
    auto dataset = ParseNewDataset(json);
    EXPECT_EQ(dataset.status().code(), StatusCode::kInvalid) << json;
    return dataset.status().message();
  };
  EXPECT_EQ(said(R"({"name":"a","source":"/x","colums":["x"]})"),
            "a dataset has no member 'colums'; did you mean columns?");
  EXPECT_EQ(said(R"({"name":"a","sorce":"/x"})"),
            "a dataset has no member 'sorce'; did you mean source?");
  EXPECT_EQ(said(R"({"name":"a","source":"/x","replica":2})"),
            "a dataset has no member 'replica'; did you mean replicas?");
  EXPECT_EQ(said(R"({"name":"a","source":"/x","version":"0"})"),
            "a dataset has no member 'version'")
      << "that is up to the head";
  EXPECT_EQ(said(R"({"name":"a","source":"/x","kind":"folder"})"),
            "a dataset's kind is \"table\" or \"files\", not 'folder'");
  EXPECT_EQ(said(R"({"name":"a","source":"/x","kind":"files","columns":["x"]})"),
            "files have no columns: leave them out");
  EXPECT_EQ(said(R"({"name":"a","source":"/x","columns":[5]})"),
            "a column's name is a text");
}

TEST(Dataset, IsReadFromTheStoreWithWhatALaterReleaseWrote) {
  EXPECT_TRUE(ParseDataset(R"({"name":"a","source":"/x","later":1})").ok());
}

TEST(Dataset, DiffersInWhatIsNamed) {
  Dataset there = Secretive();
  auto with = [&](auto change) {
    Dataset wish = there;
    change(wish);
    return DifferenceOf(there, wish);
  };
  EXPECT_EQ(with([](Dataset& d) { d.version = "other"; }), "");
  EXPECT_EQ(with([](Dataset& d) { d.replicas = 3; }),
            "its number of replicas is 2, not 3");
  EXPECT_EQ(with([](Dataset& d) { d.is_files = true; }), "its kind is table, not files");
  EXPECT_EQ(with([](Dataset& d) { d.columns = {}; }),
            "its list of columns is id,emb, not all columns");
  EXPECT_EQ(with([](Dataset& d) {
              d.columns = {"emb", "id"};
            }),
            "its list of columns is id,emb, not emb,id");
  EXPECT_EQ(with([](Dataset& d) { d.source = "/y"; }).find("its source is https://"), 0U);
  EXPECT_EQ(with([](Dataset& d) { d.options["forebay.tag"] = "test"; }),
            "its option forebay.tag is prod, not test");
  EXPECT_EQ(with([](Dataset& d) { d.options.erase("forebay.tag"); }),
            "it has the option forebay.tag as well");
  EXPECT_EQ(with([](Dataset& d) { d.options["s3.region"] = "here"; }),
            "it has no option s3.region");
}

TEST(Dataset, DiffersWithoutGivingSecretsAway) {
  Dataset there = Secretive();
  Dataset wish = there;
  wish.source = "https://me:0ther@host/x?sig=0ther";
  wish.options["s3.secret-access-key"] = "0ther";
  wish.replicas = 1;
  std::string said = DifferenceOf(there, wish);
  EXPECT_EQ(said,
            "its source has another password or query; its number of replicas is 2, not "
            "1; its option s3.secret-access-key has another value");
}

}  // namespace
}  // namespace forebay::head
