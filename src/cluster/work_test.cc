#include "cluster/work.h"

#include <gtest/gtest.h>

namespace forebay::cluster {
namespace {

TEST(Orders, AreTheSameAfterJson) {
  Orders orders{.warmups = {{.operation = "7-1",
                             .dataset = "events",
                             .version = std::string(32, 'a'),
                             .columns = {"id", "emb"},
                             .replicas = 2},
                            {.operation = "7-2", .dataset = "x", .version = "v"}}};
  EXPECT_EQ(ParseOrders(ToJson(orders)).ValueOrDie().warmups, orders.warmups);
  EXPECT_TRUE(ParseOrders("{}").ValueOrDie().warmups.empty());
  EXPECT_FALSE(ParseOrders("[]").ok());
  EXPECT_FALSE(ParseOrders(R"({"warmups":[{"operation":"a"}]})").ok());
}

TEST(NodeReport, IsTheSameAfterJson) {
  NodeReport report{.tiers = {{"mem", 5, 10}},
                    .versions = {{"events", "v", 100, 3}},
                    .warmups = {{.operation = "7-1",
                                 .roster_epoch = 9,
                                 .done = true,
                                 .units = 4,
                                 .units_done = 3,
                                 .rows = 40,
                                 .rows_done = 30,
                                 .bytes_done = 1'000,
                                 .failures = {{"s3://b/x", "it was gone"}},
                                 .failure_count = 1}},
                    .jobs = {{"run", "v", 2, 50, 100}},
                    .counters = {{"source_bytes_total", 7}}};
  NodeReport again = ParseNodeReport(ToJson(report)).ValueOrDie();
  EXPECT_EQ(ToJson(again), ToJson(report));
  EXPECT_EQ(again.warmups[0].failures, report.warmups[0].failures);
  EXPECT_TRUE(again.warmups[0].done);
  EXPECT_EQ(again.counters.at("source_bytes_total"), 7U);
}

TEST(NodeReport, TakesWhatIsThere) {
  EXPECT_TRUE(ParseNodeReport("{}").ok());
  EXPECT_TRUE(ParseNodeReport(R"({"tiers": 5, "warmups": [7, {"done": "x"}],
                                 "counters": {"a": -1}})")
                  .ok());
  EXPECT_FALSE(ParseNodeReport("no").ok());
}

TEST(NodeReport, SaysWhatTheFormatSays) {
  NodeReport report{.tiers = {{"mem", 5, 10}},
                    .versions = {{"events", "v", 100, 3}},
                    .warmups = {{.operation = "o",
                                 .roster_epoch = 9,
                                 .units = 4,
                                 .units_done = 3,
                                 .rows = 40,
                                 .rows_done = 30,
                                 .bytes_done = 7,
                                 .failure_count = 2}},
                    .jobs = {{"run", "v", 2, 50, 100}}};
  EXPECT_EQ(
      ToJson(report),
      R"({"counters":{},"jobs":[{"epoch":2,"job":"run","position":50,"rows":100,)"
      R"("version":"v"}],"tiers":[{"capacity_bytes":10,"name":"mem","used_bytes":5}],)"
      R"("versions":[{"cached_bytes":100,"cached_units":3,"dataset":"events",)"
      R"("version":"v"}],"warmups":[{"bytes_done":7,"done":false,"failure_count":2,)"
      R"("failures":[],"operation":"o","roster_epoch":9,"rows":40,"rows_done":30,)"
      R"("units":4,"units_done":3}]})");
}

TEST(NodeReport, NamesSoManyFailuresAndCountsAll) {
  WarmupReport warmup{.operation = "o", .failure_count = 150};
  for (int i = 0; i < 150; ++i) warmup.failures.push_back({std::to_string(i), "gone"});
  NodeReport again =
      ParseNodeReport(ToJson(NodeReport{.warmups = {warmup}})).ValueOrDie();
  EXPECT_EQ(again.warmups[0].failures.size(), WarmupReport::kFailuresMax);
  EXPECT_EQ(again.warmups[0].failures.back().file, "99");
  EXPECT_EQ(again.warmups[0].failure_count, 150U);
}

TEST(NodeReport, IsDoneOnlyWhereItSaysSo) {
  for (const char* done : {"false", "1", "\"true\"", "null", "{}"}) {
    auto report = ParseNodeReport(R"({"warmups":[{"done":)" + std::string(done) + "}]}");
    EXPECT_FALSE(report.ValueOrDie().warmups[0].done) << done;
  }
}

TEST(Orders, NeedAllOfTheirMembers) {
  const char* whole =
      R"({"operation":"o","dataset":"d","version":"v","columns":["a",5],"replicas":2})";
  auto orders =
      ParseOrders(R"({"warmups":[)" + std::string(whole) + ", 7]}").ValueOrDie();
  ASSERT_EQ(orders.warmups.size(), 1U);
  EXPECT_EQ(orders.warmups[0].columns, std::vector<std::string>{"a"});
  for (const char* name : {"operation", "dataset", "version", "columns", "replicas"}) {
    std::string text = whole;
    text.replace(text.find(name), 1, "x");
    EXPECT_FALSE(ParseOrders(R"({"warmups":[)" + text + "]}").ok()) << name;
  }
}

}  // namespace
}  // namespace forebay::cluster
