#include "head/warmups.h"

#include <gtest/gtest.h>

#include "meta/memory_store.h"

namespace forebay::head {
namespace {

using cluster::Member;
using cluster::MemberState;
using cluster::Roster;
using cluster::WarmupReport;

// Two units of 10 rows in one file.
model::AnyManifest SmallManifest() {
  model::Schema schema;
  schema.fields.emplace_back();
  schema.fields[0].name = "id";
  schema.fields[0].format = "l";
  model::ManifestBuilder builder(
      {.version = HashBytes("v"), .origin = "file:///x", .schema = schema});
  model::Object file;
  file.uri = "file:///x";
  uint32_t object = builder.AddObject(file, {.row_count = 20});
  for (uint32_t i = 0; i < 2; ++i) {
    builder.AddUnit(
        {.pieces =
             {{.object = object, .first_group = i, .group_count = 1, .row_count = 10}},
         .range_rows = {10},
         .wide_columns = {},
         .context = {}});
  }
  auto bytes = std::make_shared<const std::string>(builder.Finish());
  return model::AnyManifest::View(*bytes, bytes).ValueOrDie();
}

class WarmupsTest : public ::testing::Test {
 protected:
  void SetUp() override { StartHead(); }
  void StartHead() {
    warmups_ =
        Warmups::Load({.store = &store_, .term = ++term_, .clock = &clock_}).ValueOrDie();
  }
  static std::shared_ptr<const Roster> Nodes(uint64_t epoch,
                                             std::vector<std::string> up) {
    Roster::Options options{.epoch = epoch};
    for (const std::string& id : up) options.members.push_back({.id = id});
    options.members.push_back({.id = "z", .state = MemberState::kDown});
    return Roster::Make(std::move(options)).ValueOrDie();
  }
  Operation Start(const Roster& roster, uint32_t replicas = 1) {
    Dataset dataset{.name = "d", .source = "/x", .replicas = replicas, .version = "v"};
    return warmups_->Start(dataset, manifest_, roster).ValueOrDie();
  }
  void Report(const std::string& node, WarmupReport report, const Roster& roster) {
    if (report.roster_epoch == 0) report.roster_epoch = roster.epoch();
    warmups_->Report(node, {report}, roster);
  }
  Operation Get(const std::string& id) { return warmups_->Get(id).ValueOrDie(); }

  FakeClock clock_;
  meta::MemoryStore store_{&clock_};
  uint64_t term_ = 0;
  model::AnyManifest manifest_ = SmallManifest();
  std::unique_ptr<Warmups> warmups_;
};

WarmupReport Done(const std::string& id, uint64_t units) {
  return {.operation = id,
          .done = true,
          .units = units,
          .units_done = units,
          .rows = units * 10,
          .rows_done = units * 10,
          .bytes_done = units * 100};
}

TEST_F(WarmupsTest, EndsWhenEveryNodeThatIsUpIsDone) {
  auto roster = Nodes(5, {"a", "b"});
  std::string id = Start(*roster).order.operation;
  EXPECT_EQ(Get(id).units, 2U);
  EXPECT_EQ(Get(id).rows, 20U);
  ASSERT_EQ(warmups_->orders().warmups.size(), 1U);
  EXPECT_EQ(warmups_->orders().warmups[0].version, "v");
  Report("a", Done(id, 2), *roster);
  EXPECT_EQ(Get(id).state, OperationState::kRunning);
  EXPECT_EQ(Get(id).units_done, 2U);
  EXPECT_EQ(Get(id).waiting_for, std::vector<std::string>{"b"});
  Report("b", Done(id, 0), *roster);
  EXPECT_EQ(Get(id).state, OperationState::kDone);
  EXPECT_EQ(Get(id).bytes_done, 200U);
  EXPECT_TRUE(warmups_->orders().warmups.empty());
}

TEST_F(WarmupsTest, CountsEveryCopy) {
  auto roster = Nodes(5, {"a", "b"});
  EXPECT_EQ(Start(*roster, 2).units, 4U);
}

TEST_F(WarmupsTest, NamesTheFilesThatFailed) {
  auto roster = Nodes(5, {"a", "b"});
  std::string id = Start(*roster).order.operation;
  WarmupReport failed = Done(id, 1);
  failed.units = 2;
  failed.failures = {{"s3://b/x", "it is gone"}};
  failed.failure_count = 1;
  Report("a", failed, *roster);
  Report("b", Done(id, 0), *roster);
  EXPECT_EQ(Get(id).state, OperationState::kFailed);
  ASSERT_EQ(Get(id).failures.size(), 1U);
  EXPECT_EQ(Get(id).failures.begin()->file, "s3://b/x");
  EXPECT_EQ(Get(id).units_done, 1U);
}

TEST_F(WarmupsTest, AsksAgainWhenANodeGoesDownOrComes) {
  auto both = Nodes(5, {"a", "b"});
  std::string id = Start(*both).order.operation;
  Report("a", Done(id, 1), *both);
  // b is down: a's word from before says nothing about b's share.
  auto alone = Nodes(6, {"a"});
  warmups_->Update(*alone);
  EXPECT_EQ(Get(id).state, OperationState::kRunning);
  WarmupReport stale = Done(id, 1);
  stale.roster_epoch = 5;
  Report("a", stale, *alone);
  EXPECT_EQ(Get(id).state, OperationState::kRunning);
  Report("a", Done(id, 2), *alone);
  EXPECT_EQ(Get(id).state, OperationState::kDone);
}

TEST_F(WarmupsTest, GoesOnAfterRostersThatChangeNothing) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  auto newer = Nodes(6, {"a"});
  WarmupReport report = Done(id, 2);
  report.roster_epoch = 5;
  Report("a", report, *newer);
  EXPECT_EQ(Get(id).state, OperationState::kDone);
}

TEST_F(WarmupsTest, WaitsWhileNoNodeIsUp) {
  auto nobody = Nodes(5, {});
  std::string id = Start(*nobody).order.operation;
  warmups_->Update(*nobody);
  EXPECT_EQ(Get(id).state, OperationState::kRunning);
  EXPECT_EQ(Get(id).reason, "no node is up");
}

TEST_F(WarmupsTest, GivesTheOneThatRunsInsteadOfASecond) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  EXPECT_EQ(Start(*roster).order.operation, id);
  Report("a", Done(id, 2), *roster);
  EXPECT_NE(Start(*roster).order.operation, id);
}

TEST_F(WarmupsTest, GoesOnUnderTheNextHead) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  StartHead();
  ASSERT_EQ(warmups_->orders().warmups.size(), 1U);
  EXPECT_EQ(warmups_->orders().warmups[0].operation, id);
  auto next = Nodes(9, {"a"});
  Report("a", Done(id, 2), *next);
  EXPECT_EQ(Get(id).state, OperationState::kDone);
  warmups_->Update(*next);
  StartHead();
  EXPECT_TRUE(warmups_->orders().warmups.empty()) << "what ended is forgotten";
}

TEST_F(WarmupsTest, CanBeCancelled) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  EXPECT_EQ(warmups_->Cancel(id).ValueOrDie().state, OperationState::kCancelled);
  EXPECT_TRUE(warmups_->orders().warmups.empty());
  EXPECT_EQ(warmups_->Cancel("x").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace forebay::head
