#include "cli/cluster/cluster_warmup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/cluster/cluster_text.h"
#include "cli/cluster/head_call.h"

namespace forebay::cli {
namespace {

using nlohmann::json;

TEST(ClusterDatasetOf, TakesPlainNamesForDatasetsWhereThereIsAHead) {
  ::setenv("FOREBAY_HEAD", "h:1", 1);
  EXPECT_EQ(ClusterDatasetOf("events", "")->name, "events");
  EXPECT_EQ(ClusterDatasetOf("events", "")->head, "h:1");
  EXPECT_FALSE(ClusterDatasetOf("./events", "").has_value());
  EXPECT_FALSE(ClusterDatasetOf(".", "").has_value());
  std::string here = testing::TempDir() + "forebay-warmup-XXXXXX";
  ASSERT_NE(::mkdtemp(here.data()), nullptr);
  ASSERT_EQ(::mkdir((here + "/events").c_str(), 0700), 0);
  ASSERT_EQ(::chdir(here.c_str()), 0);
  EXPECT_TRUE(ClusterDatasetOf("events", "").has_value()) << "though there is a folder";
  ::unsetenv("FOREBAY_HEAD");
  EXPECT_FALSE(ClusterDatasetOf("events", "").has_value()) << "it is the folder";
  ASSERT_EQ(::chdir("/"), 0);
  std::filesystem::remove_all(here);
}

TEST(ClusterDatasetOf, TellsDatasetsFromTables) {
  EXPECT_EQ(ClusterDatasetOf("no-file-here", "")->head, "");
  EXPECT_FALSE(ClusterDatasetOf("/data/events", "").has_value());
  EXPECT_FALSE(ClusterDatasetOf("*.parquet", "").has_value());
  auto named = ClusterDatasetOf("events", "h:1,g:1");
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->head + " " + named->name, "h:1,g:1 events");
  auto by_uri = ClusterDatasetOf("forebay://h:7070/events", "other:1");
  ASSERT_TRUE(by_uri.has_value());
  EXPECT_EQ(by_uri->head + " " + by_uri->name, "h:7070 events");
}

TEST(JudgeOperation, IsASuccessOnlyWhenAllIsLoaded) {
  EXPECT_EQ(JudgeOperation({{"state", "done"}}).code, ExitCode::kOk);
  auto failed = JudgeOperation(
      {{"state", "failed"},
       {"rows", 30},
       {"rows_done", 20},
       {"failures", {{{"file", "s3://me:pw@b/x"}, {"error", "it is gone"}}}}});
  EXPECT_EQ(failed.code, ExitCode::kPartial);
  ASSERT_EQ(failed.messages.size(), 2U);
  EXPECT_EQ(failed.messages[0].find("pw"), std::string::npos);
  EXPECT_NE(failed.messages[0].find("b/x: it is gone"), std::string::npos);
  EXPECT_NE(failed.messages[1].find("only 20 of 30 rows"), std::string::npos);
  EXPECT_EQ(JudgeOperation({{"state", "cancelled"}}).code, ExitCode::kCancelled);
  EXPECT_EQ(JudgeOperation(json::object()).code, ExitCode::kPartial);
}

TEST(ClusterText, TakesAnswersOfOtherReleases) {
  for (const json& odd : {json::object(), json{{"nodes", 5}, {"datasets", {1, nullptr}}},
                          json{{"nodes", {{{"report", {{"tiers", {"x"}}}}}}}}}) {
    EXPECT_FALSE(ClusterText(odd).empty());
    EXPECT_FALSE(DatasetText(odd).empty());
    EXPECT_FALSE(OperationText(odd).empty());
  }
}

TEST(ClusterText, ShowsWhatNodesHold) {
  json tiers = {{{"used_bytes", 1 << 20}, {"capacity_bytes", 4 << 20}}};
  std::string text = NodesText(
      {{"nodes",
        {{{"id", "a\x1b[2J"}, {"state", "up"}, {"report", {{"tiers", tiers}}}}}}});
  EXPECT_NE(text.find("1.0 MiB of 4.0 MiB"), text.npos);
  EXPECT_EQ(text.find('\x1b'), text.npos) << "names do not steer the terminal";
}

TEST(ClusterText, SaysWhatIsMissing) {
  std::string text = ClusterText(
      {{"datasets",
        {{{"name", "d"}, {"note", "one\x1b more"}}, {{"name", "e"}, {"note", ""}}}}});
  EXPECT_NE(text.find("\nd: one"), text.npos) << text;
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_EQ(text.find("\ne:"), text.npos);
}

TEST(HeadCall, RefusesTextThatIsNotUtf8) {
  auto head = HeadCall::To("127.0.0.1:1").ValueOrDie();
  EXPECT_EQ(head.Post("/v1/datasets", {{"source", "/data/\xff"}}).status().code(),
            StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::cli
