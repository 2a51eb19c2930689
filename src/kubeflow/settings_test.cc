#include "kubeflow/settings.h"

#include <gtest/gtest.h>

#include <map>

namespace forebay::kubeflow {
namespace {

using Words = std::vector<std::string>;

Result<Settings> Read(const Words& words, std::map<std::string, std::string> variables) {
  return ReadSettings(words, [variables](const char* name) -> std::optional<std::string> {
    auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

const std::map<std::string, std::string> kHead = {{"METADATA_LOC", "s3a://b/m.json"},
                                                  {"LWS_GROUP_SIZE", "5"}};

TEST(Settings, OfAHeadAreWhatKubeflowSets) {
  auto variables = kHead;
  variables["TABLE_NAME"] = "re views";
  variables["SCHEMA_NAME"] = "shop";
  auto settings = Read({"/usr/local/bin/head", "0.0.0.0", "50051"}, variables);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->role, Role::kHead);
  EXPECT_EQ(settings->host, "0.0.0.0");
  EXPECT_EQ(settings->port, 50051);
  EXPECT_EQ(settings->metadata, "s3a://b/m.json");
  EXPECT_EQ(settings->dataset, "shop.re_views");
  EXPECT_EQ(settings->workers, 4U);
  EXPECT_EQ(settings->health_port, 8080);
  EXPECT_EQ(settings->connect_timeout, std::chrono::seconds(20));
  EXPECT_FALSE(settings->local);
}

TEST(Settings, OfAWorkerNameItsLeaderAndItself) {
  auto settings =
      Read({"worker", "0.0.0.0", "50051"}, {{"LWS_LEADER_ADDRESS", "x-0.x.ns"},
                                            {"LWS_WORKER_INDEX", "3"},
                                            {"POD_IP", "10.0.0.9"}});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->role, Role::kWorker);
  EXPECT_EQ(settings->leader, "x-0.x.ns");
  EXPECT_EQ(settings->worker_id, "worker-3");
  EXPECT_EQ(settings->pod_ip, "10.0.0.9");
}

TEST(Settings, TakeTheRoleAlsoFromTheFirstArgument) {
  EXPECT_EQ(Read({"forebay-kubeflow", "head", "::", "1"}, kHead)->role, Role::kHead);
}

TEST(Settings, OfOneMachineNeedNoLeaderWorkerSet) {
  auto head = Read({"head", "127.0.0.1", "50051"},
                   {{"RUNTIME_ENV", "LOCAL"}, {"METADATA_LOC", "/t"}});
  EXPECT_EQ(head->workers, 2U);
  auto worker = Read({"worker", "127.0.0.1", "50053"}, {{"RUNTIME_ENV", "LOCAL"}});
  EXPECT_EQ(worker->leader, "127.0.0.1");
  EXPECT_EQ(worker->worker_id, "worker-50053");
}

TEST(Settings, SayWhatIsMissingOrWrong) {
  auto said = [](const Words& words, std::map<std::string, std::string> variables) {
    auto settings = Read(words, std::move(variables));
    EXPECT_EQ(settings.status().code(), StatusCode::kInvalid);
    return settings.status().message();
  };
  Words head = {"head", "0.0.0.0", "50051"};
  EXPECT_EQ(said(head, {{"LWS_GROUP_SIZE", "2"}}), "METADATA_LOC is not set");
  EXPECT_EQ(said(head, {{"METADATA_LOC", "/t"}}), "LWS_GROUP_SIZE is not set");
  auto with = [](const char* name, const char* value) {
    auto variables = kHead;
    variables[name] = value;
    return variables;
  };
  EXPECT_NE(said(head, with("LWS_GROUP_SIZE", "1")).find("no worker"), std::string::npos);
  EXPECT_NE(said(head, with("HEALTH_PORT", "x")).find("HEALTH_PORT"), std::string::npos);
  EXPECT_NE(said(head, with("CONNECT_TIMEOUT_SECS", "-1")).find("CONNECT"),
            std::string::npos);
  for (const Words& words : {Words{}, Words{"head"}, Words{"head", "h"},
                             Words{"x", "y", "h", "1"}, Words{"head", "h", "1", "2"}}) {
    EXPECT_NE(said(words, kHead).find("head HOST PORT"), std::string::npos);
  }
  EXPECT_NE(said({"head", "h", "65536"}, kHead).find("the port"), std::string::npos);
  EXPECT_EQ(said({"worker", "h", "1"}, {{"LWS_WORKER_INDEX", "1"}}),
            "LWS_LEADER_ADDRESS is not set");
  EXPECT_EQ(said({"worker", "h", "1"}, {{"LWS_LEADER_ADDRESS", "x"}}),
            "LWS_WORKER_INDEX is not set");
  EXPECT_NE(said({"worker", "h", "1"},
                 {{"LWS_LEADER_ADDRESS", "x"}, {"LWS_WORKER_INDEX", "a/b"}})
                .find("LWS_WORKER_INDEX is 'a/b'"),
            std::string::npos)
      << "the head would refuse such an id for ever";
}

}  // namespace
}  // namespace forebay::kubeflow
