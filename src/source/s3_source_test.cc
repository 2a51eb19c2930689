#include "source/s3_source.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "support/servers.h"

namespace forebay::source {
namespace {

using nlohmann::json;
using testing_support::FaultProxy;
using testing_support::S3Server;
using testing_support::ScriptedServer;
using testing_support::TempFolder;
using testing_support::WriteFile;

Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

// Sets variables for one test and puts the old values back.
class Environment {
 public:
  ~Environment() {
    for (auto& [name, value] : old_) {
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
  }
  void Set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    old_.emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::optional<std::string>> old_;
};

class S3 : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<S3Server>> server = S3Server::Start();
    if (!server.ok()) why_not = server.status();
    if (server.ok()) shared = *std::move(server);
    if (shared) FB_CHECK(shared->Put("folder/object", "hello").ok());
  }
  static void TearDownTestSuite() { shared.reset(); }
  void SetUp() override {
    if (!shared && why_not.code() == StatusCode::kNotFound) {
      GTEST_SKIP() << "NOT TESTED: " << why_not.message();
    }
    ASSERT_TRUE(shared) << why_not;
  }

  Options Keys() {
    return {{"s3.endpoint", shared->endpoint()},
            {"s3.access-key-id", S3Server::kAccessKey},
            {"s3.secret-access-key", S3Server::kSecretKey}};
  }
  Status StatWith(const Options& options, const std::string& scheme = "s3") {
    std::string uri = scheme + "://bucket/folder/object";
    Result<std::shared_ptr<Source>> source = OpenSource(uri, options);
    if (!source.ok()) return source.status();
    Result<model::Object> object = (*source)->Stat(uri, Soon());
    if (!object.ok()) return object.status();
    std::string read(5, '\0');
    Status status =
        (*source)->Read(*object, 0, std::as_writable_bytes(std::span(read)), Soon());
    if (status.ok() && read != "hello") return Status::Corrupt("wrong bytes");
    return status;
  }

  static std::unique_ptr<S3Server> shared;
  static Status why_not;
};
std::unique_ptr<S3Server> S3::shared;
Status S3::why_not;

TEST_F(S3, ReadsWithAllItsSpellings) {
  for (const char* scheme : {"s3", "s3a", "oss"}) {
    EXPECT_EQ(StatWith(Keys(), scheme), Status::OK()) << scheme;
  }
}

TEST_F(S3, GivesS3aObjectsTheNameThatS3Gives) {
  auto source = OpenSource("s3a://bucket", Keys()).ValueOrDie();
  Result<model::Object> object = source->Stat("s3a://bucket/folder/object", Soon());
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->uri, "s3://bucket/folder/object");
  EXPECT_EQ(source->origin(), shared->endpoint());
}

TEST_F(S3, ListsMoreThanOnePage) {
  ASSERT_TRUE(shared->PutMany("many/", 1050).ok());
  auto source = OpenSource("s3://bucket", Keys()).ValueOrDie();
  Result<std::vector<model::Object>> objects = source->List("s3://bucket/many", Soon());
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 1050u);
  EXPECT_EQ(objects->back().uri, "s3://bucket/many/001049");
  EXPECT_EQ(objects->back().identity.size, 4);
  EXPECT_GE(source->stats().requests, 3u);
}

TEST_F(S3, SaysThatABucketIsNotThere) {
  auto source = OpenSource("s3://nobucket", Keys()).ValueOrDie();
  EXPECT_EQ(source->List("s3://nobucket/x", Soon()).status().code(),
            StatusCode::kNotFound);
}

TEST_F(S3, RefusesWrongKeysAtOnceAndKeepsThemSecret) {
  Options options = Keys();
  options["s3.secret-access-key"] = "WRONGSECRET";
  Status status = StatWith(options);
  EXPECT_EQ(status.code(), StatusCode::kPermission) << status;
  auto source = OpenSource("s3://bucket", options).ValueOrDie();
  Status listed = source->List("s3://bucket/folder/", Soon()).status();
  EXPECT_EQ(listed.code(), StatusCode::kPermission) << listed;
  EXPECT_EQ(source->stats().retries, 0u);
  for (const std::string& text : {status.ToString(), listed.ToString()}) {
    EXPECT_EQ(text.find("SECRET"), text.npos) << text;
    EXPECT_EQ(text.find("Signature="), text.npos) << text;
    EXPECT_EQ(text.find(S3Server::kSecretKey), text.npos) << text;
  }
}

TEST_F(S3, RefusesAWrongSessionTokenAndKeepsItSecret) {
  Options options = Keys();
  options["s3.session-token"] = "TOKENSECRET";
  Status status = StatWith(options);
  EXPECT_EQ(status.code(), StatusCode::kPermission) << status;
  EXPECT_EQ(status.ToString().find("SECRET"), std::string::npos) << status;
}

TEST_F(S3, AsksAnonymouslyWhenTold) {
  Status status =
      StatWith({{"s3.endpoint", shared->endpoint()}, {"s3.anonymous", "true"}});
  EXPECT_EQ(status.code(), StatusCode::kPermission) << status;
}

TEST_F(S3, TakesEndpointAndKeysFromTheEnvironment) {
  Environment environment;
  environment.Set("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
  environment.Set("AWS_ENDPOINT_URL_S3", shared->endpoint());
  environment.Set("AWS_ACCESS_KEY_ID", S3Server::kAccessKey);
  environment.Set("AWS_SECRET_ACCESS_KEY", S3Server::kSecretKey);
  EXPECT_EQ(StatWith({}), Status::OK());
}

TEST_F(S3, TakesKeysFromAProfileThroughTheAwsChain) {
  TempFolder folder;
  WriteFile(folder.path() + "/credentials",
            std::string("[work]\naws_access_key_id = ") + S3Server::kAccessKey +
                "\naws_secret_access_key = " + S3Server::kSecretKey + "\n");
  WriteFile(folder.path() + "/config", "");
  Environment environment;
  environment.Set("AWS_EC2_METADATA_DISABLED", "true");
  environment.Set("AWS_SHARED_CREDENTIALS_FILE", folder.path() + "/credentials");
  environment.Set("AWS_CONFIG_FILE", folder.path() + "/config");
  environment.Set("AWS_PROFILE", "work");
  EXPECT_EQ(StatWith({{"s3.endpoint", shared->endpoint()}}), Status::OK());
}

TEST_F(S3, SaysHowToGiveCredentialsWhenThereAreNone) {
  Environment environment;
  environment.Set("AWS_EC2_METADATA_DISABLED", "true");
  environment.Set("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent");
  environment.Set("AWS_CONFIG_FILE", "/nonexistent");
  environment.Set("HOME", "/nonexistent");
  Status status = StatWith({{"s3.endpoint", shared->endpoint()}});
  EXPECT_EQ(status.code(), StatusCode::kPermission) << status;
  EXPECT_NE(status.message().find("AWS_ACCESS_KEY_ID"), std::string::npos) << status;
}

TEST_F(S3, LearnsTheRegionThatTheServerNames) {
  Options options = Keys();
  options["s3.region"] = "eu-west-3";
  EXPECT_EQ(StatWith(options), Status::OK());
}

TEST_F(S3, FollowsABucketToItsRegion) {
  auto proxy = FaultProxy::Start(shared->port()).ValueOrDie();
  // The redirect names a region whose signatures the server then refuses, naming its own.
  proxy->Add({.stage = "list", .kind = "redirect-region"});
  Options options = Keys();
  options["s3.endpoint"] = proxy->url();
  auto source = OpenSource("s3://bucket", options).ValueOrDie();
  Result<std::vector<model::Object>> objects =
      source->List("s3://bucket/folder/", Soon());
  EXPECT_TRUE(objects.ok()) << objects.status();
  EXPECT_EQ(proxy->fired(), 1);
  EXPECT_EQ(source->stats().retries, 2u);
}

TEST(S3Options, ChecksWhatItIsGiven) {
  struct Case {
    Options options;
    StatusCode code;
  };
  for (const Case& c : {Case{{{"s3.acess-key-id", "x"}}, StatusCode::kInvalid},
                        Case{{{"s3.access-key-id", "x"}}, StatusCode::kInvalid},
                        Case{{{"s3.anonymous", "maybe"}}, StatusCode::kInvalid},
                        Case{{{"s3.endpoint", "ftp://x"}}, StatusCode::kInvalid},
                        Case{{{"s3.endpoint", "http://u:p@x"}}, StatusCode::kInvalid},
                        Case{{{"http.stall-timeout-s", "x"}}, StatusCode::kInvalid},
                        Case{{{"http.stall", "1"}}, StatusCode::kInvalid},
                        Case{{{"s3.anonymous", "true"}}, StatusCode::kOk}}) {
    Status status = OpenSource("s3://b/k", c.options).status();
    EXPECT_EQ(status.code(), c.code) << status;
  }
  EXPECT_EQ(OpenSource("oss://b/k", {}).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(OpenSource("ftp://b/k", {}).status().code(), StatusCode::kUnsupported);
}

TEST(S3Options, ChoosesTheAddressingStyle) {
  auto style = [](const std::string& scheme, const Options& options) {
    return S3Options::Parse(scheme, options).ValueOrDie().virtual_host;
  };
  EXPECT_TRUE(style("s3", {}));
  EXPECT_FALSE(style("s3", {{"s3.endpoint", "http://minio:9000"}}));
  EXPECT_TRUE(style("oss", {{"s3.endpoint", "https://oss-cn-hangzhou.aliyuncs.com"}}));
  EXPECT_FALSE(style("oss", {{"s3.endpoint", "http://127.0.0.1:9000"}}));
  EXPECT_TRUE(style("s3", {{"s3.endpoint", "http://minio:9000"},
                           {"s3.force-virtual-addressing", "true"}}));
}

// What comes of answers that no sane server gives.
struct S3Answers : testing::Test {
  S3Answers() {
    object.identity.size = 10;
    object.identity.etag = "a";
  }
  json Part(const char* range, const char* text, json reply) {
    return {{"request", "GET /b/k"},
            {"headers", {{"Range", range}, {"If-Match", "\"a\""}}},
            {"status", 206},
            {"text", text},
            {"reply", std::move(reply)}};
  }
  Status Read(int64_t offset, size_t size) {
    bytes.assign(size + 1, '-');
    return source->Read(object, offset,
                        std::as_writable_bytes(std::span(bytes)).first(size), Soon());
  }

  std::unique_ptr<ScriptedServer> server = ScriptedServer::Start().ValueOrDie();
  std::shared_ptr<Source> source = OpenSource("s3://b", {{"s3.endpoint", server->url()},
                                                         {"s3.anonymous", "true"},
                                                         {"http.backoff-ms", "1"},
                                                         {"http.attempts-max", "2"}})
                                       .ValueOrDie();
  model::Object object{"s3://b/k", {}};
  std::string bytes;
};

TEST_F(S3Answers, WithoutTheEtagAreNotUsed) {
  server->Script(
      json::array({Part("bytes=3-6", "3456",
                        {{"Content-Range", "bytes 3-6/10"}, {"ETag", "\"a\""}}),
                   Part("bytes=4-6", "456", {{"Content-Range", "bytes 4-6/10"}}),
                   Part("bytes=5-6", "56",
                        {{"Content-Range", "bytes 5-6/10"}, {"ETag", "\"b\""}})})
          .dump());
  EXPECT_EQ(Read(3, 4), Status::OK());
  EXPECT_EQ(bytes, "3456-");
  EXPECT_EQ(Read(4, 3).code(), StatusCode::kChanged);
  EXPECT_EQ(bytes, "----");
  EXPECT_EQ(Read(5, 2).code(), StatusCode::kChanged);
}

TEST_F(S3Answers, OneByteTooLongAreNotUsed) {
  server->Script(
      json::array({Part("bytes=3-4", "345",
                        {{"Content-Range", "bytes 3-5/10"}, {"ETag", "\"a\""}})})
          .dump());
  EXPECT_EQ(Read(3, 2).code(), StatusCode::kUnavailable);
  EXPECT_EQ(bytes, "---");
}

json Page(const std::string& token, const std::string& contents) {
  std::string request = "GET /b/?" +
                        (token.empty() ? "" : "continuation-token=" + token + "&") +
                        "encoding-type=url&list-type=2&prefix=p%2F";
  return {{"request", request},
          {"text", "<ListBucketResult>" + contents + "</ListBucketResult>"}};
}

std::string Entry(const std::string& key) {
  return "<Contents><Key>" + key + "</Key><Size>1</Size><ETag>\"e\"</ETag></Contents>";
}

std::string Next(const std::string& token) {
  return "<IsTruncated>true</IsTruncated><NextContinuationToken>" + token +
         "</NextContinuationToken>";
}

TEST_F(S3Answers, ThatGiveTheSamePageAgainEndTheListing) {
  server->Script(json::array({Page("", Entry("p/1") + Next("t")),
                              Page("t", Entry("p/1") + Next("t"))})
                     .dump());
  EXPECT_EQ(source->List("s3://b/p/", Soon()).status().code(), StatusCode::kCorrupt);
}

TEST_F(S3Answers, OfSeveralPagesAreOneList) {
  server->Script(json::array({Page("", Entry("p/2") + Next("t")),
                              Page("t", Entry("p/1") + Entry("p/d/"))})
                     .dump());
  auto objects = source->List("s3a://b/p/", Soon());
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 3u);
  EXPECT_EQ((*objects)[0].uri, "s3://b/p/1");
  EXPECT_EQ((*objects)[2].uri, "s3://b/p/d/");  // it holds something
}

TEST_F(S3Answers, WithoutEtagsAreNoList) {
  server->Script(
      json::array({Page("", "<Contents><Key>p/1</Key><Size>1</Size></Contents>")})
          .dump());
  EXPECT_EQ(source->List("s3://b/p/", Soon()).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace forebay::source
