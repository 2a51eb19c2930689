#include "table/catalog/rest_catalog.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/servers.h"
#include "table/catalog/rest_session.h"

namespace forebay::table::catalog {
namespace {

using nlohmann::json;
using testing_support::FreePort;
using testing_support::ScriptedServer;

struct RestCatalogTest : testing::Test {
  void Script(const json& answers) { server->Script(answers.dump()); }
  // A configuration, then the table db.t as `load` says.
  void ScriptTable(const json& load, const json& config = json::object()) {
    Script({{{"request", "GET /v1/config"}, {"answer", config}},
            {{"request", kTable}, {"answer", load}}});
  }
  Result<CatalogTable> Load(source::Options options = {},
                            const std::string& name = "db.t") {
    options.emplace("http.backoff-ms", "1");
    return LoadCatalogTable("iceberg+rest://" + server->host() + "/" + name, options,
                            Deadline::After(milliseconds(20'000)));
  }
  Status Failure(const source::Options& options = {}) { return Load(options).status(); }

  static constexpr char kTable[] = "GET /v1/namespaces/db/tables/t";
  const json kLoaded = {{"metadata-location", "s3://lake/t/metadata/1.metadata.json"},
                        {"metadata", {{"format-version", 2}, {"x", 12345678901234567}}}};
  std::unique_ptr<ScriptedServer> server = ScriptedServer::Start().ValueOrDie();
};

TEST_F(RestCatalogTest, LoadsATable) {
  ScriptTable(kLoaded);
  CatalogTable table = Load({{"s3.region", "r"}}).ValueOrDie();
  EXPECT_EQ(table.metadata_location, "s3://lake/t/metadata/1.metadata.json");
  EXPECT_EQ(json::parse(table.metadata_json.value()), kLoaded["metadata"]);
  EXPECT_EQ(table.options.at("s3.region"), "r");
}

TEST_F(RestCatalogTest, FollowsTheConfiguration) {
  auto other = ScriptedServer::Start().ValueOrDie();
  Script({{{"request", "GET /v1/config?warehouse=s3%3A%2F%2Flake%2F"},
           {"answer",
            {{"defaults",
              {{"prefix", "no"}, {"s3.region", "d"}, {"s3.endpoint", "http://d"}}},
             {"overrides", {{"prefix", "a/b"}, {"uri", other->url() + "/base/"}}}}}}});
  json answer = {{"request", "GET /base/v1/a/b/namespaces/db%1Fx%20y/tables/t%2F1"},
                 {"headers", {{"X-Iceberg-Access-Delegation", "vended-credentials"}}},
                 {"answer", kLoaded}};
  other->Script(json::array({answer}).dump());
  CatalogTable table =
      Load({{"warehouse", "s3://lake/"}, {"s3.region", "mine"}}, "db.x y.t%2F1")
          .ValueOrDie();
  EXPECT_EQ(table.options.at("s3.region"), "mine");
  EXPECT_EQ(table.options.at("s3.endpoint"), "http://d");
}

TEST_F(RestCatalogTest, JoinsLevelsAsTheCatalogWants) {
  Script({{{"request", "GET /v1/config"},
           {"answer", {{"overrides", {{"namespace-separator", "%2E"}}}}}},
          {{"request", "GET /v1/namespaces/a.b/tables/t"}, {"answer", kLoaded}}});
  EXPECT_TRUE(Load({}, "a.b.t").ok());
}

TEST_F(RestCatalogTest, VendsCredentialsForTheLongestPrefix) {
  json load = kLoaded;
  load["config"] = {{"s3.endpoint", "http://e"}, {"token", "T"},
                    {"s3.signer.uri", "x"},      {"forebay.allow.0", "file:///"},
                    {"http.ca-file", "/x"},      {"s3.path-style-access", "true"}};
  load["storage-credentials"] = {
      {{"prefix", "s3://lake/"}, {"config", {{"s3.access-key-id", "short"}}}},
      {{"prefix", "s3://lake/t/"},
       {"config", {{"s3.access-key-id", "long"}, {"s3.secret-access-key", "s"}}}},
      {{"prefix", "s3://lake/tea"}, {"config", {{"s3.access-key-id", "other"}}}}};
  ScriptTable(load);
  CatalogTable table =
      Load({{"s3.access-key-id", "mine"}, {"s3.session-token", "old"}}).ValueOrDie();
  source::Options expected = {{"s3.access-key-id", "long"},
                              {"s3.secret-access-key", "s"},
                              {"s3.endpoint", "http://e"},
                              {"s3.force-virtual-addressing", "false"},
                              {"http.backoff-ms", "1"}};
  EXPECT_EQ(table.options, expected);
}

TEST_F(RestCatalogTest, SaysThatItDoesNotSignRemotely) {
  json load = kLoaded;
  load["config"] = {{"s3.remote-signing-enabled", "true"}};
  ScriptTable(load);
  EXPECT_EQ(Failure().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(Load({{"s3.access-key-id", "a"}, {"s3.secret-access-key", "b"}}).ok());
}

TEST_F(RestCatalogTest, SendsATokenAndHeaders) {
  json who = {{"Authorization", "Bearer TOKEN"}, {"X-Team", "blue"}};
  Script({{{"request", "GET /v1/config"}, {"headers", who}},
          {{"request", kTable}, {"headers", who}, {"answer", kLoaded}}});
  EXPECT_TRUE(Load({{"token", "TOKEN"}, {"header.X-Team", "blue"}}).ok());
  EXPECT_EQ(Failure({{"header.X-Team", "blue\r\nX-Other: 1"}}).code(),
            StatusCode::kInvalid);
}

TEST_F(RestCatalogTest, FetchesATokenForACredential) {
  json form = {{"grant_type", "client_credentials"},
               {"client_id", "me"},
               {"client_secret", "se:cret"},
               {"scope", "catalog"},
               {"audience", "lake"}};
  json token = {{"access_token", "FETCHED"}, {"token_type", "bearer"}};
  json who = {{"Authorization", "Bearer FETCHED"}};
  Script({{{"request", "POST /v1/oauth/tokens"}, {"form", form}, {"answer", token}},
          {{"request", "POST /elsewhere"},
           {"form", {{"client_secret", "only"}, {"scope", "PRINCIPAL_ROLE:ALL"}}},
           {"answer", token}},
          {{"request", "GET /v1/config"}, {"headers", who}},
          {{"request", kTable}, {"headers", who}, {"answer", kLoaded}}});
  EXPECT_TRUE(Load({{"credential", "me:se:cret"}, {"audience", "lake"}}).ok());
  EXPECT_TRUE(Load({{"credential", "only"},
                    {"scope", "PRINCIPAL_ROLE:ALL"},
                    {"oauth2-server-uri", server->url() + "/elsewhere"}})
                  .ok());
}

TEST_F(RestCatalogTest, KnowsPyIcebergsAuthSection) {
  json who = {{"Authorization", "Basic bWU6cGFzcw=="}};
  Script({{{"request", "GET /v1/config"}, {"headers", who}},
          {{"request", kTable}, {"headers", who}, {"answer", kLoaded}}});
  EXPECT_TRUE(Load({{"auth.type", "basic"},
                    {"auth.basic.username", "me"},
                    {"auth.basic.password", "pass"}})
                  .ok());
  EXPECT_EQ(Failure({{"auth.type", "google"}}).code(), StatusCode::kUnsupported);
  EXPECT_EQ(Failure({{"rest.sigv4-enabled", "true"}}).code(), StatusCode::kUnsupported);
}

TEST_F(RestCatalogTest, NeverShowsSecrets) {
  json echo = {{"error", {{"message", "bad token TOKENTOKEN and SECRETSECRET"}}}};
  for (const char* request : {"GET /v1/config", "POST /v1/oauth/tokens"}) {
    Script({{{"request", request}, {"status", 401}, {"answer", echo}}});
    for (const source::Options& options :
         {source::Options{{"token", "TOKENTOKEN"}, {"header.X", "SECRETSECRET"}},
          source::Options{{"credential", "TOKENTOKEN:SECRETSECRET"}}}) {
      Status status = Failure(options);
      EXPECT_EQ(status.message().find("SECRETSECRET"), std::string::npos) << status;
      if (options.contains("token")) {
        EXPECT_EQ(status.message().find("TOKENTOKEN"), std::string::npos) << status;
      }
    }
  }
}

TEST_F(RestCatalogTest, SaysWhatACatalogRefuses) {
  json error = {{"error", {{"message", "no way"}, {"type", "X"}, {"code", 403}}}};
  for (int code : {401, 403}) {
    Script({{{"request", "GET /v1/config"}, {"status", code}, {"answer", error}}});
    Status status = Failure();
    EXPECT_EQ(status.code(), StatusCode::kPermission) << status;
    EXPECT_NE(status.message().find("no way"), std::string::npos) << status;
    EXPECT_NE(status.message().find("token"), std::string::npos) << status;
    EXPECT_NE(status.message().find(server->host()), std::string::npos) << status;
  }
  json oauth = {{"error", "invalid_client"}, {"error_description", "who are you"}};
  Script({{{"request", "POST /v1/oauth/tokens"}, {"status", 400}, {"answer", oauth}}});
  Status status = Failure({{"credential", "a:b"}});
  EXPECT_EQ(status.code(), StatusCode::kPermission) << status;
  EXPECT_NE(status.message().find("who are you"), std::string::npos) << status;
}

TEST_F(RestCatalogTest, NamesWhatIsNotThereAndWhatIs) {
  EXPECT_EQ(Failure().code(), StatusCode::kNotFound);  // no catalog at all
  json tables = {{"identifiers", {{{"namespace", {"db"}}, {"name", "u"}}}}};
  Script({{{"request", "GET /v1/config"}},
          {{"request", "GET /v1/namespaces/db/tables"}, {"answer", tables}}});
  Status status = Failure();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("no table db.t: there are db.u"), std::string::npos)
      << status;
  Script({{{"request", "GET /v1/config"}}});
  EXPECT_NE(Failure().message().find("no namespace db"), std::string::npos);
}

TEST_F(RestCatalogTest, TriesAgainWhatMayPass) {
  Script({{{"request", "GET /v1/config"}, {"status", 503}, {"times", 2}},
          {{"request", "GET /v1/config"}},
          {{"request", kTable}, {"status", 500}, {"times", 1}},
          {{"request", kTable}, {"answer", kLoaded}}});
  EXPECT_TRUE(Load().ok());
  Script({{{"request", "GET /v1/config"},
           {"status", 500},
           {"answer", {{"error", {{"message", "out of order"}}}}}}});
  Status status = Failure();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_NE(status.message().find("out of order"), std::string::npos) << status;
  EXPECT_NE(status.message().find("5 attempts"), std::string::npos) << status;
}

TEST_F(RestCatalogTest, SaysThatNobodyListens) {
  std::string nobody = "127.0.0.1:" + std::to_string(FreePort());
  Status status =
      LoadCatalogTable("iceberg+rest://" + nobody + "/db.t", {{"http.backoff-ms", "1"}},
                       Deadline::After(milliseconds(20'000)))
          .status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(nobody), std::string::npos) << status;
}

TEST_F(RestCatalogTest, RefusesAnswersThatMakeNoSense) {
  auto after = [&](const json& answer) {
    json load = answer;
    load["request"] = kTable;
    Script({{{"request", "GET /v1/config"}}, load});
    return Failure();
  };
  for (const char* text :
       {"", "<html>", "[]", "17", "{\"metadata\": {}}", "{\"metadata-location\": 7}"}) {
    Status status = after({{"text", text}});
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << text << " " << status;
    EXPECT_NE(status.message().find("db.t"), std::string::npos) << status;
  }
  EXPECT_EQ(after({{"text", std::string(100'000, '[')}}).code(), StatusCode::kCorrupt);
  Status moved = after({{"status", 301}, {"reply", {{"Location", "https://new/x"}}}});
  EXPECT_EQ(moved.code(), StatusCode::kInvalid);
  EXPECT_NE(moved.message().find("https://new/x"), std::string::npos) << moved;
}

TEST(ParseUntrusted, RefusesDeepNesting) {
  EXPECT_TRUE(ParseUntrusted(R"({"a": [1, {"b": null}]})").has_value());
  EXPECT_FALSE(ParseUntrusted("{").has_value());
  std::string deep(5000, '[');
  EXPECT_FALSE(ParseUntrusted(deep + std::string(5000, ']')).has_value());
}

}  // namespace
}  // namespace forebay::table::catalog
