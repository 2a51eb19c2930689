#include "reader/environment/catalog_configuration.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reader/environment/source_environment.h"

namespace forebay::reader {
namespace {

// A home and a PYICEBERG_HOME of its own, and none of the caller's variables.
struct CatalogConfigurationTest : testing::Test {
  CatalogConfigurationTest() {
    std::string name = testing::TempDir() + "forebay-home-XXXXXX";
    home = ::mkdtemp(name.data());
    old_home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ::setenv("HOME", home.c_str(), 1);
    for (const char* variable :
         {"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION",
          "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}) {
      ::unsetenv(variable);
    }
  }
  ~CatalogConfigurationTest() override {
    for (const std::string& name : set) ::unsetenv(name.c_str());
    ::setenv("HOME", old_home.c_str(), 1);
    std::filesystem::remove_all(home);
  }
  void Variable(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set.push_back(name);
  }
  void Yaml(const std::string& text) const {
    std::ofstream(home + "/.pyiceberg.yaml") << text;
  }
  static Properties Added(const std::string& uri, Properties options = {}) {
    Status status = AddSourceEnvironment(uri, &options);
    EXPECT_EQ(status, Status::OK());
    return options;
  }

  std::string home;
  std::string old_home;
  std::vector<std::string> set;
};

TEST_F(CatalogConfigurationTest, FollowsPyIcebergsRules) {
  Yaml(
      "default-catalog: Prod\ncatalog:\n  Prod:\n    URI: http://file\n    token: t\n"
      "    header.X-Team: blue\n    auth:\n      type: basic\n");
  Variable("PYICEBERG_CATALOG__PROD__URI", "http://variable");
  Variable("PYICEBERG_CATALOG__PROD__S3__ACCESS_KEY_ID", "key");
  Variable("pyiceberg_catalog__my_other__credential", "c");
  auto configuration = ReadCatalogConfiguration().ValueOrDie();
  EXPECT_EQ(configuration.default_name, "Prod");
  EXPECT_EQ(*configuration.Find("PROD"), (Properties{{"uri", "http://variable"},
                                                     {"token", "t"},
                                                     {"header.x-team", "blue"},
                                                     {"auth.type", "basic"},
                                                     {"s3.access-key-id", "key"}}));
  EXPECT_EQ(configuration.Find("my-other")->at("credential"), "c");
  Variable("PYICEBERG_DEFAULT_CATALOG", "my-other");
  EXPECT_EQ(ReadCatalogConfiguration().ValueOrDie().default_name, "my-other");
}

TEST_F(CatalogConfigurationTest, PrefersPyicebergHomeToTheHome) {
  Yaml("default-catalog: home");
  std::filesystem::create_directory(home + "/other");
  std::ofstream(home + "/other/.pyiceberg.yaml") << "default-catalog: other";
  Variable("PYICEBERG_HOME", home + "/other");
  EXPECT_EQ(ReadCatalogConfiguration().ValueOrDie().default_name, "other");
}

TEST_F(CatalogConfigurationTest, NamesTheFileAndLineThatIsWrong) {
  Yaml("catalog:\n  prod: [1]\n");
  Properties options;
  Status status = AddSourceEnvironment("iceberg://prod/db.t", &options);
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find(home + "/.pyiceberg.yaml: line 2"), std::string::npos)
      << status;
  EXPECT_EQ(AddSourceEnvironment("s3://bucket/x", &options), Status::OK());
  EXPECT_EQ(AddSourceEnvironment("/data/x", &options), Status::OK());
}

TEST_F(CatalogConfigurationTest, GivesANamedCatalogItsProperties) {
  Yaml(
      "catalog:\n  prod:\n    uri: http://h\n    type: rest\n    warehouse: w\n"
      "    py-io-impl: x\n    s3.endpoint: http://e\n    s3.connect-timeout: 3\n");
  EXPECT_EQ(Added("iceberg://PROD/db.t", {{"warehouse", "mine"}}),
            (Properties{{"catalog", "PROD"},
                        {"uri", "http://h"},
                        {"type", "rest"},
                        {"warehouse", "mine"},
                        {"s3.endpoint", "http://e"}}));
  Properties none;
  Status status = AddSourceEnvironment("iceberg://other/db.t", &none);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("there are prod"), std::string::npos) << status;
}

TEST_F(CatalogConfigurationTest, SendsSecretsOnlyToTheirOwnCatalog) {
  Yaml(
      "catalog:\n  default:\n    uri: http://Mine:8181/\n    token: t\n"
      "  other:\n    uri: https://h/base\n    token: u\n");
  EXPECT_EQ(Added("iceberg+rest://mine:8181/db.t"), (Properties{{"token", "t"}}));
  EXPECT_EQ(Added("iceberg+rest+https://h/base/db.t"), (Properties{{"token", "u"}}));
  EXPECT_EQ(Added("iceberg+rest://h/base/db.t"), Properties());
  EXPECT_EQ(Added("iceberg+rest://foreign/db.t"), Properties());
  EXPECT_EQ(Added("iceberg+rest://foreign/db.t", {{"catalog", "other"}}).at("token"),
            "u");
  Variable("PYICEBERG_DEFAULT_CATALOG", "anywhere");
  Variable("PYICEBERG_CATALOG__ANYWHERE__TOKEN", "v");
  EXPECT_EQ(Added("iceberg+rest://foreign/db.t").at("token"), "v");
}

TEST_F(CatalogConfigurationTest, KeepsWhatBelongsTogetherTogether) {
  Yaml(
      "catalog:\n  default:\n    credential: id:secret\n    s3.access-key-id: k\n"
      "    s3.secret-access-key: s\n    s3.region: r\n");
  EXPECT_EQ(
      Added("iceberg+rest://h/db.t", {{"token", "t"}, {"s3.access-key-id", "mine"}}),
      (Properties{{"token", "t"}, {"s3.access-key-id", "mine"}, {"s3.region", "r"}}));
}

TEST_F(CatalogConfigurationTest, FindsDatabasesWhereTheCallerIs) {
  Yaml(
      "catalog:\n  local:\n    uri: sqlite:///x/catalog.db\n    s3.region: r\n"
      "  full:\n    uri: sqlite:////a/catalog.db\n    s3.region: q\n");
  std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(Added("iceberg://local/db.t").at("uri"),
            "sqlite:///" + here + "/x/catalog.db");
  EXPECT_EQ(Added("iceberg://full/db.t").at("uri"), "sqlite:////a/catalog.db");
  EXPECT_EQ(Added("iceberg+sqlite:///a/catalog.db/db.t"),
            (Properties{{"s3.region", "q"}}));
}

TEST_F(CatalogConfigurationTest, HelpsPlainUrisOfObjectStores) {
  Yaml(
      "catalog:\n  default:\n    uri: http://h\n    token: t\n    s3.endpoint: http://e\n"
      "    s3.access-key-id: k\n    s3.secret-access-key: s\n"
      "  other:\n    s3.region: r\n");
  Properties filled = {{"s3.endpoint", "http://e"},
                       {"s3.access-key-id", "k"},
                       {"s3.secret-access-key", "s"}};
  EXPECT_EQ(Added("s3://bucket/x"), filled);
  EXPECT_EQ(Added("/data/x"), Properties());
  EXPECT_EQ(Added("s3://bucket/x", {{"s3.endpoint", "http://mine"}}),
            (Properties{{"s3.endpoint", "http://mine"}}));
  EXPECT_EQ(Added("/data/x", {{"catalog", "other"}}).at("s3.region"), "r");
  Properties none = {{"catalog", "none"}};
  EXPECT_EQ(AddSourceEnvironment("/data/x", &none).code(), StatusCode::kNotFound);
}

TEST_F(CatalogConfigurationTest, AddsAwsVariablesForCatalogsToo) {
  Variable("AWS_ACCESS_KEY_ID", "k");
  Variable("AWS_SECRET_ACCESS_KEY", "s");
  Variable("AWS_REGION", "r");
  Properties keys = {
      {"s3.access-key-id", "k"}, {"s3.secret-access-key", "s"}, {"s3.region", "r"}};
  EXPECT_EQ(Added("iceberg+rest://h/db.t"), keys);
  EXPECT_EQ(Added("iceberg+sqlite:///x.db/db.t"), keys);
  EXPECT_EQ(Added("s3://bucket/x"), keys);
  EXPECT_EQ(Added("/data/x"), Properties());
  EXPECT_EQ(Added("iceberg+rest://h/db.t", {{"s3.access-key-id", "mine"}}),
            (Properties{{"s3.access-key-id", "mine"}, {"s3.region", "r"}}));
}

TEST(AbsoluteUri, LeavesCatalogsAsTheyAre) {
  EXPECT_EQ(AbsoluteUri("iceberg+sqlite:///a/b.db/c.d").ValueOrDie(),
            "iceberg+sqlite:///a/b.db/c.d");
  EXPECT_EQ(AbsoluteUri("s3://a/b").ValueOrDie(), "s3://a/b");
  EXPECT_EQ(AbsoluteUri("x").ValueOrDie(),
            "file://" + std::filesystem::current_path().string() + "/x");
}

}  // namespace
}  // namespace forebay::reader
