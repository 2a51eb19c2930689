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

}  // namespace
}  // namespace forebay::cluster
