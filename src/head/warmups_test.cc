#include "head/warmups.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

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

// Fails, or lets something happen, when it is told to.
class HookStore : public meta::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  std::function<void()> before_put;
  bool fails = false;
  Result<uint64_t> Put(const std::string& key, const std::string& value,
                       const meta::PutOptions& options) override {
    if (fails) return Status::Unavailable("the store is away");
    if (auto once = std::exchange(before_put, nullptr)) once();
    return MemoryStore::Put(key, value, options);
  }
  Status Delete(const std::string& key, std::optional<uint64_t> version) override {
    if (fails) return Status::Unavailable("the store is away");
    return MemoryStore::Delete(key, version);
  }
};

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
  HookStore store_{&clock_};
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

TEST_F(WarmupsTest, SaysWhatIsMissingForItsReplicas) {
  auto one = Nodes(5, {"a"});
  Operation operation = Start(*one, 3);
  EXPECT_EQ(operation.units, 2U) << "one copy is all there can be";
  EXPECT_EQ(operation.note,
            "3 replicas are wanted, but 1 node is up: each row has 1 copy until 2 nodes "
            "more join");
  EXPECT_EQ(Start(*Nodes(6, {"a", "b", "c"}), 2).note, "");
}

TEST(ReplicasNote, IsThereOnlyWhereSomethingIsMissing) {
  EXPECT_EQ(ReplicasNote(1, 1), "");
  EXPECT_EQ(ReplicasNote(2, 2), "");
  EXPECT_EQ(ReplicasNote(1, 5), "");
  EXPECT_EQ(ReplicasNote(2, 0), "") << "another word says that no node is up";
  EXPECT_EQ(ReplicasNote(3, 2),
            "3 replicas are wanted, but 2 nodes are up: each row has 2 copies until 1 "
            "node more joins");
}

TEST_F(WarmupsTest, HasIdsThatNoHeadBeforeHasGivenOut) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  ASSERT_TRUE(warmups_->Cancel(id).ok());
  warmups_->Update(*roster);
  // The store was restored from before: the same term is there again.
  --term_;
  StartHead();
  EXPECT_NE(Start(*roster).order.operation, id);
}

TEST_F(WarmupsTest, IsOneWhereTwoAskAtOnce) {
  auto roster = Nodes(5, {"a"});
  std::string first;
  store_.before_put = [&] { first = Start(*roster).order.operation; };
  EXPECT_EQ(Start(*roster).order.operation, first);
  EXPECT_EQ(warmups_->orders().warmups.size(), 1U);
  warmups_->Update(*roster);
  EXPECT_EQ(store_.List("operations/").ValueOrDie().entries.size(), 1U);
}

TEST_F(WarmupsTest, IsForgottenLaterWhereTheStoreIsAway) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  ASSERT_TRUE(warmups_->Cancel(id).ok());
  store_.fails = true;
  warmups_->Update(*roster);
  store_.fails = false;
  warmups_->Update(*roster);
  StartHead();
  EXPECT_TRUE(warmups_->orders().warmups.empty()) << "what was cancelled goes on";
}

TEST_F(WarmupsTest, DoesNotBeginWhereItCannotBeStored) {
  auto roster = Nodes(5, {"a"});
  store_.fails = true;
  Dataset dataset{.name = "d", .source = "/x", .version = "v"};
  EXPECT_EQ(warmups_->Start(dataset, manifest_, *roster).status().code(),
            StatusCode::kUnavailable);
  EXPECT_TRUE(warmups_->orders().warmups.empty());
}

TEST_F(WarmupsTest, IsAnotherForOtherColumnsVersionsAndReplicas) {
  auto roster = Nodes(5, {"a"});
  Dataset dataset{.name = "d", .source = "/x", .version = "v"};
  std::set<std::string> ids;
  auto start = [&] {
    auto operation = warmups_->Start(dataset, manifest_, *roster).ValueOrDie();
    EXPECT_EQ(operation.order.columns, dataset.columns);
    EXPECT_EQ(operation.order.replicas, dataset.replicas);
    EXPECT_EQ(operation.order.version, dataset.version);
    EXPECT_EQ(operation.order.dataset, dataset.name);
    ids.insert(operation.order.operation);
  };
  start();
  dataset.columns = {"id"};
  start();
  dataset.replicas = 2;
  start();
  dataset.version = "w";
  start();
  dataset.name = "e";
  start();
  EXPECT_EQ(ids.size(), 5U);
  auto orders = warmups_->orders();
  StartHead();
  auto again = warmups_->orders();
  EXPECT_EQ(again.warmups, orders.warmups) << "also under the next head";
}

TEST_F(WarmupsTest, RunsSoManyAtOnceAndNoMore) {
  auto roster = Nodes(5, {"a"});
  Dataset dataset{.name = "d", .source = "/x", .version = "v"};
  for (int i = 0; i < 100; ++i) {
    dataset.name = "d" + std::to_string(i);
    ASSERT_TRUE(warmups_->Start(dataset, manifest_, *roster).ok());
  }
  dataset.name = "one more";
  EXPECT_EQ(warmups_->Start(dataset, manifest_, *roster).status().code(),
            StatusCode::kUnavailable);
  dataset.name = "d7";
  EXPECT_TRUE(warmups_->Start(dataset, manifest_, *roster).ok()) << "it runs already";
}

TEST_F(WarmupsTest, FailsWhenUnitsAreMissingThoughNobodySaysWhy) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  Report("a", Done(id, 1), *roster);
  EXPECT_EQ(Get(id).state, OperationState::kFailed);
}

TEST_F(WarmupsTest, CountsOnlyWhatNodesThatAreUpSay) {
  auto both = Nodes(5, {"a", "b"});
  std::string id = Start(*both).order.operation;
  WarmupReport half = Done(id, 1);
  half.done = false;
  Report("a", half, *both);
  Report("b", half, *both);
  EXPECT_EQ(Get(id).rows_done, 20U);
  EXPECT_EQ(Get(id).bytes_done, 200U);
  warmups_->Update(*Nodes(6, {"b"}));
  EXPECT_EQ(Get(id).rows_done, 10U);
  EXPECT_EQ(Get(id).waiting_for, std::vector<std::string>{"b"});
  Report("stranger", Done("no such operation", 5), *Nodes(7, {"b"}));
  EXPECT_EQ(Get(id).rows_done, 10U);
}

TEST_F(WarmupsTest, CountsTimeWhileItRuns) {
  auto roster = Nodes(5, {"a"});
  std::string id = Start(*roster).order.operation;
  clock_.Advance(milliseconds(1'500));
  EXPECT_EQ(Get(id).elapsed, milliseconds(1'500));
  Report("a", Done(id, 2), *roster);
  clock_.Advance(milliseconds(5'000));
  EXPECT_EQ(Get(id).elapsed, milliseconds(1'500));
  EXPECT_EQ(warmups_->List().size(), 1U);
}

TEST_F(WarmupsTest, RemembersSoManyThatHaveEnded) {
  auto roster = Nodes(5, {"a"});
  std::vector<std::string> ids;
  for (int i = 0; i < 201; ++i) {
    ids.push_back(Start(*roster).order.operation);
    ASSERT_TRUE(warmups_->Cancel(ids.back()).ok());
  }
  EXPECT_EQ(warmups_->List().size(), 200U);
  EXPECT_EQ(warmups_->Get(ids[0]).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(warmups_->Get(ids[1]).ok());
}

TEST_F(WarmupsTest, NamesSoManyFailuresOfAllNodes) {
  auto roster = Nodes(5, {"a", "b"});
  std::string id = Start(*roster).order.operation;
  for (const char* node : {"a", "b"}) {
    WarmupReport failed = Done(id, 0);
    for (int i = 0; i < 70; ++i) {
      failed.failures.push_back({node + std::to_string(i), "gone"});
    }
    Report(node, failed, *roster);
  }
  EXPECT_EQ(Get(id).failures.size(), 100U);
  EXPECT_EQ(Get(id).failure_count, 140U);
}

TEST(OperationState, HasAName) {
  EXPECT_EQ(OperationStateName(OperationState::kRunning), "running");
  EXPECT_EQ(OperationStateName(OperationState::kDone), "done");
  EXPECT_EQ(OperationStateName(OperationState::kFailed), "failed");
  EXPECT_EQ(OperationStateName(OperationState::kCancelled), "cancelled");
}

}  // namespace
}  // namespace forebay::head
