#include "cluster/membership.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <thread>
#include <utility>

#include "cluster/term.h"
#include "meta/memory_store.h"

namespace forebay::cluster {
namespace {

using std::chrono::minutes;

// Lets something happen while the store is being called.
class HookStore : public meta::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  std::function<void()> before_delete;
  std::function<void()> before_put;
  std::function<void()> after_put;
  bool fails = false;

  Result<uint64_t> Put(const std::string& key, const std::string& value,
                       const meta::PutOptions& options) override {
    if (fails) return Status::Unavailable("the store is away");
    Call(before_put);
    auto put = MemoryStore::Put(key, value, options);
    Call(after_put);
    return put;
  }
  Status Delete(const std::string& key, std::optional<uint64_t> if_version) override {
    Call(before_delete);
    if (fails) return Status::Unavailable("the store is away");
    return MemoryStore::Delete(key, if_version);
  }

 private:
  static void Call(std::function<void()>& hook) {
    if (auto once = std::exchange(hook, nullptr)) once();
  }
};

class MembershipTest : public ::testing::Test {
 protected:
  void SetUp() override { StartHead(); }

  // A head that starts, or takes over, on the same store.
  void StartHead() {
    members_ = Membership::Load({.store = &store_, .term = ++term_, .clock = &clock_})
                   .ValueOrDie();
  }
  uint64_t Join(const std::string& id, const std::string& instance = "1") {
    auto joined = members_->Register(
        {.id = id, .instance = instance, .host = "h", .flight = "h:" + id, .weight = 1});
    return joined.ValueOrDie().fence;
  }
  Status Beat(const std::string& id, uint64_t fence) {
    auto answer = members_->Beat({.id = id, .fence = fence});
    return answer.ok() ? Status::OK() : answer.status();
  }
  // "up", …, or "-" where the roster has no such member.
  std::string StateOf(const std::string& id) {
    auto roster = members_->roster();
    const Member* member = roster->Find(id);
    return member == nullptr ? "-" : std::string(MemberStateName(member->state));
  }

  FakeClock clock_;
  HookStore store_{&clock_};
  uint64_t term_ = 0;
  std::unique_ptr<Membership> members_;
};

TEST_F(MembershipTest, KnowsWhoRegistered) {
  EXPECT_EQ(StateOf("a"), "-");
  Join("a");
  EXPECT_EQ(StateOf("a"), "up");
  EXPECT_EQ(members_->roster()->Find("a")->flight, "h:a");
}

TEST_F(MembershipTest, TakesSilenceOfTForDownAndNoLess) {
  uint64_t fence = Join("a");
  clock_.Advance(milliseconds(3'999));
  EXPECT_EQ(StateOf("a"), "up");
  EXPECT_TRUE(Beat("a", fence).ok());
  clock_.Advance(milliseconds(3'999));
  EXPECT_EQ(StateOf("a"), "up");
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(StateOf("a"), "down");
}

TEST_F(MembershipTest, TakesBackWhoIsHeardOfAgain) {
  uint64_t fence = Join("a");
  clock_.Advance(minutes(9));
  EXPECT_EQ(StateOf("a"), "down");
  EXPECT_TRUE(Beat("a", fence).ok());
  EXPECT_EQ(StateOf("a"), "up");
}

TEST_F(MembershipTest, KeepsAPlaceForTenMinutes) {
  uint64_t fence = Join("a");
  clock_.Advance(minutes(10) - milliseconds(1));
  EXPECT_EQ(StateOf("a"), "down");
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(StateOf("a"), "-");
  EXPECT_EQ(Beat("a", fence).code(), StatusCode::kNotFound);
  EXPECT_TRUE(store_.Get("members/a").ok());
  EXPECT_TRUE(members_->ForgetGone().ok());
  EXPECT_EQ(store_.Get("members/a").status().code(), StatusCode::kNotFound);
}

TEST_F(MembershipTest, NumbersRostersUpwards) {
  Join("a");
  uint64_t first = members_->roster()->epoch();
  EXPECT_EQ(members_->roster()->epoch(), first) << "nothing changed";
  uint64_t fence = Join("b");
  uint64_t second = members_->roster()->epoch();
  EXPECT_GT(second, first);
  clock_.Advance(milliseconds(4'000));
  EXPECT_TRUE(Beat("b", fence).ok());
  EXPECT_GT(members_->roster()->epoch(), second);
  uint64_t last = members_->roster()->epoch();
  StartHead();
  EXPECT_GT(members_->roster()->epoch(), last) << "also those of the next head";
}

TEST_F(MembershipTest, SendsTheRosterOnlyToWhomHasAnOlderOne) {
  uint64_t fence = Join("a");
  uint64_t epoch = members_->roster()->epoch();
  auto same = members_->Beat({.id = "a", .fence = fence, .roster_epoch = epoch});
  EXPECT_EQ(same.ValueOrDie().roster, nullptr);
  Join("b");
  auto older = members_->Beat({.id = "a", .fence = fence, .roster_epoch = epoch});
  ASSERT_NE(older.ValueOrDie().roster, nullptr);
  EXPECT_NE(older.ValueOrDie().roster->Find("b"), nullptr);
}

TEST_F(MembershipTest, FencesAnOlderProcessOfTheSameId) {
  uint64_t old_fence = Join("a", "1");
  uint64_t new_fence = Join("a", "2");
  EXPECT_GT(new_fence, old_fence);
  EXPECT_EQ(Beat("a", old_fence).code(), StatusCode::kChanged);
  EXPECT_TRUE(Beat("a", new_fence).ok());
  EXPECT_EQ(members_->Leave({.id = "a", .fence = old_fence}).code(),
            StatusCode::kChanged);
  EXPECT_EQ(StateOf("a"), "up");
}

TEST_F(MembershipTest, DrainsAtOnceAndForgetsTheNodeWhenItFallsSilent) {
  uint64_t fence = Join("a");
  Join("b");
  ASSERT_TRUE(members_->Drain("a").ok());
  EXPECT_EQ(StateOf("a"), "draining");
  for (uint32_t owner : members_->roster()->Owners(HashBytes("u"), 2)) {
    EXPECT_EQ(members_->roster()->members()[owner].id, "b");
  }
  EXPECT_TRUE(Beat("a", fence).ok()) << "it still answers readers";
  EXPECT_EQ(StateOf("a"), "draining");
  clock_.Advance(milliseconds(4'000));
  EXPECT_EQ(StateOf("a"), "-");
  EXPECT_EQ(members_->Drain("nobody").code(), StatusCode::kNotFound);
}

TEST_F(MembershipTest, KeepsADrainOverARestartOfTheHeadButNotOfTheNode) {
  Join("a", "1");
  ASSERT_TRUE(members_->Drain("a").ok());
  StartHead();
  EXPECT_EQ(StateOf("a"), "draining");
  Join("a", "1");
  EXPECT_EQ(StateOf("a"), "draining");
  Join("a", "2");
  EXPECT_EQ(StateOf("a"), "up");
}

TEST_F(MembershipTest, TakesGoodbyeForDownAndKeepsThePlace) {
  uint64_t fence = Join("a");
  ASSERT_TRUE(members_->Leave({.id = "a", .fence = fence}).ok());
  EXPECT_EQ(StateOf("a"), "down");
  Join("a", "2");
  EXPECT_EQ(StateOf("a"), "up");
}

TEST_F(MembershipTest, KnowsPlacesAfterARestartAndWhoDoesNotComeBack) {
  uint64_t fence = Join("a");
  Join("b");
  StartHead();
  EXPECT_EQ(StateOf("a"), "up");
  EXPECT_EQ(StateOf("b"), "up");
  EXPECT_EQ(members_->roster()->Find("a")->flight, "h:a");
  EXPECT_EQ(Beat("a", fence).code(), StatusCode::kNotFound) << "it has to register";
  clock_.Advance(milliseconds(3'000));
  EXPECT_GT(Join("a"), fence);
  clock_.Advance(milliseconds(1'000));
  EXPECT_EQ(StateOf("a"), "up");
  EXPECT_EQ(StateOf("b"), "down");
}

TEST_F(MembershipTest, WritesNothingWhenTheSameNodeRegistersAgain) {
  Join("a");
  uint64_t version = store_.Get("members/a").ValueOrDie().version;
  StartHead();
  Join("a");
  EXPECT_EQ(store_.Get("members/a").ValueOrDie().version, version);
  Join("a", "2");
  EXPECT_GT(store_.Get("members/a").ValueOrDie().version, version);
}

TEST_F(MembershipTest, ShowsWhatNodesReport) {
  uint64_t fence = Join("a");
  auto beat = members_->Beat({.id = "a", .fence = fence, .report = R"({"rows":5})"});
  ASSERT_TRUE(beat.ok());
  clock_.Advance(milliseconds(1'500));
  auto nodes = members_->nodes();
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].report, R"({"rows":5})");
  EXPECT_EQ(nodes[0].silence, milliseconds(1'500));
}

TEST_F(MembershipTest, RefusesWhatIsNoNode) {
  EXPECT_FALSE(members_->Register({.id = ""}).ok());
  EXPECT_FALSE(members_->Register({.id = "a/b"}).ok());
  EXPECT_FALSE(members_->Register({.id = std::string(129, 'a')}).ok());
  EXPECT_FALSE(members_->Register({.id = "a", .weight = 0}).ok());
  EXPECT_FALSE(members_->Register({.id = "a", .flight = std::string(600, 'a')}).ok());
  for (auto field : {&Registration::host, &Registration::flight, &Registration::http}) {
    Registration node{.id = "a"};
    node.*field = std::string(513, 'a');
    EXPECT_EQ(members_->Register(node).status().code(), StatusCode::kInvalid);
  }
  for (double weight : {-1.0, std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(members_->Register({.id = "a", .weight = weight}).status().code(),
              StatusCode::kInvalid);
  }
  EXPECT_TRUE(members_->roster()->members().empty());
  Registration longest{.id = std::string(128, 'a'), .flight = std::string(512, 'a')};
  EXPECT_TRUE(members_->Register(longest).ok());
  EXPECT_TRUE(members_->Register({.id = "a.b-c_D9"}).ok());
}

TEST_F(MembershipTest, SaysSoWhenItsStoreIsSpoiled) {
  ASSERT_TRUE(store_.Put("members/x", "{}", {}).ok());
  auto loaded = Membership::Load({.store = &store_, .clock = &clock_});
  EXPECT_EQ(loaded.status().code(), StatusCode::kCorrupt);
}

TEST_F(MembershipTest, KeepsInTheStoreWhoCameBackBeforeItWasForgotten) {
  Join("a");
  Join("b");
  clock_.Advance(minutes(10));
  EXPECT_EQ(StateOf("a"), "-");
  Join("a");
  EXPECT_TRUE(members_->ForgetGone().ok());
  StartHead();
  EXPECT_EQ(StateOf("a"), "up");
  EXPECT_EQ(StateOf("b"), "-");
}

TEST_F(MembershipTest, KeepsInTheStoreWhoComesBackWhileItIsForgotten) {
  Join("a");
  clock_.Advance(minutes(10));
  EXPECT_EQ(StateOf("a"), "-");
  store_.before_delete = [this] { Join("a"); };
  EXPECT_TRUE(members_->ForgetGone().ok());
  EXPECT_EQ(StateOf("a"), "up");
  StartHead();
  EXPECT_EQ(StateOf("a"), "up") << "the head before deleted what was written anew";
}

TEST_F(MembershipTest, LeavesAloneWhatTheNextHeadHasWritten) {
  Join("a");
  clock_.Advance(minutes(10));
  EXPECT_EQ(StateOf("a"), "-");
  auto deposed = std::move(members_);
  StartHead();
  Join("a", "2");
  EXPECT_TRUE(deposed->ForgetGone().ok());
  StartHead();
  EXPECT_EQ(StateOf("a"), "up");
}

TEST_F(MembershipTest, ForgetsLaterWhatTheStoreCouldNotForgetNow) {
  Join("a");
  clock_.Advance(minutes(10));
  store_.fails = true;
  EXPECT_EQ(members_->ForgetGone().code(), StatusCode::kUnavailable);
  store_.fails = false;
  EXPECT_TRUE(members_->ForgetGone().ok());
  EXPECT_FALSE(store_.Get("members/a").ok());
}

TEST_F(MembershipTest, IsNotJoinedByANodeThatCouldNotBeStored) {
  store_.fails = true;
  auto refused = members_->Register({.id = "a", .instance = "1"});
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(StateOf("a"), "-");
}

TEST_F(MembershipTest, IsJoinedOnceByARegistrationThatArrivesTwice) {
  // The answer to the first was late, so the node has sent it again.
  for (auto hook : {&HookStore::before_put, &HookStore::after_put}) {
    uint64_t again = 0;
    store_.*hook = [&] { again = Join("a", "1"); };
    uint64_t first = Join("a", "1");
    EXPECT_EQ(first, again);
    EXPECT_TRUE(Beat("a", again).ok()) << "it is taken for an older process";
    EXPECT_EQ(Join("a", "1"), again);
    EXPECT_GT(Join("a", "2"), again) << "another process";
    EXPECT_EQ(Beat("a", again).code(), StatusCode::kChanged);
  }
}

TEST_F(MembershipTest, StoresWhoeverHasTheLargerFence) {
  // Another process of the same id registers while this one's entry is written.
  uint64_t other = 0;
  store_.after_put = [&] { other = Join("a", "2"); };
  uint64_t fence = Join("a", "1");
  EXPECT_GT(fence, other);
  EXPECT_EQ(Beat("a", other).code(), StatusCode::kChanged);
  uint64_t version = store_.Get("members/a").ValueOrDie().version;
  StartHead();
  Join("a", "1");
  EXPECT_EQ(store_.Get("members/a").ValueOrDie().version, version)
      << "the store has the process with the larger fence";
}

TEST_F(MembershipTest, DrainsTheProcessThatRegistersMeanwhile) {
  Join("a", "1");
  store_.before_put = [this] { Join("a", "2"); };
  ASSERT_TRUE(members_->Drain("a").ok());
  EXPECT_EQ(StateOf("a"), "draining");
  StartHead();
  Join("a", "2");
  EXPECT_EQ(StateOf("a"), "draining") << "the store has the process that was drained";
}

TEST_F(MembershipTest, ForgetsANodeThatGoesWhileItIsDrained) {
  Join("a");
  clock_.Advance(milliseconds(4'000));
  store_.before_put = [this] {
    EXPECT_EQ(StateOf("a"), "-");
    EXPECT_TRUE(members_->ForgetGone().ok());
  };
  EXPECT_TRUE(members_->Drain("a").ok());
  EXPECT_FALSE(store_.Get("members/a").ok());
}

TEST_F(MembershipTest, ForgetsADrainedNodeThatWasDown) {
  Join("a");
  clock_.Advance(milliseconds(4'000));
  EXPECT_EQ(StateOf("a"), "down");
  ASSERT_TRUE(members_->Drain("a").ok());
  EXPECT_EQ(StateOf("a"), "-");
  EXPECT_TRUE(members_->ForgetGone().ok());
  EXPECT_FALSE(store_.Get("members/a").ok());
}

TEST_F(MembershipTest, PublishesADrainOnce) {
  Join("a");
  ASSERT_TRUE(members_->Drain("a").ok());
  uint64_t epoch = members_->roster()->epoch();
  ASSERT_TRUE(members_->Drain("a").ok());
  EXPECT_EQ(members_->roster()->epoch(), epoch);
}

TEST_F(MembershipTest, IsFullForStrangersOnly) {
  members_ = Membership::Load(
                 {.store = &store_, .term = ++term_, .members_max = 2, .clock = &clock_})
                 .ValueOrDie();
  Join("a");
  Join("b");
  EXPECT_EQ(members_->Register({.id = "c", .instance = "1"}).status().code(),
            StatusCode::kFull);
  EXPECT_EQ(StateOf("c"), "-");
  Join("a");
  Join("b", "2");
  EXPECT_EQ(StateOf("b"), "up");
}

TEST_F(MembershipTest, HearsANodeWhoseReportIsTooLargeToBeKept) {
  uint64_t fence = Join("a");
  std::string large(1 << 20, ' ');
  EXPECT_TRUE(members_->Beat({.id = "a", .fence = fence, .report = large}).ok());
  EXPECT_EQ(members_->nodes()[0].report, large);
  clock_.Advance(milliseconds(3'000));
  EXPECT_TRUE(members_->Beat({.id = "a", .fence = fence, .report = large + " "}).ok());
  EXPECT_EQ(members_->nodes()[0].report, R"({"too_large": true})");
  clock_.Advance(milliseconds(3'000));
  EXPECT_EQ(StateOf("a"), "up") << "it is alive";
}

TEST_F(MembershipTest, TakesADifferentAddressOrWeightForAChange) {
  auto version = [&] { return store_.Get("members/a").ValueOrDie().version; };
  Registration node{.id = "a",
                    .instance = "1",
                    .host = "h",
                    .flight = "h:1",
                    .http = "h:2",
                    .weight = 1,
                    .store_bytes = 5};
  ASSERT_TRUE(members_->Register(node).ok());
  for (auto change :
       {+[](Registration& r) { r.host = "g"; },
        +[](Registration& r) { r.flight = "g:1"; },
        +[](Registration& r) { r.http = "g:2"; }, +[](Registration& r) { r.weight = 2; },
        +[](Registration& r) { r.store_bytes = 6; }}) {
    uint64_t before = version();
    ASSERT_TRUE(members_->Register(node).ok());
    EXPECT_EQ(version(), before) << "nothing changed";
    change(node);
    ASSERT_TRUE(members_->Register(node).ok());
    EXPECT_GT(version(), before);
  }
  StartHead();
  const Member* member = members_->roster()->Find("a");
  EXPECT_EQ(member->host + " " + member->flight + " " + member->http, "g g:1 g:2");
  EXPECT_EQ(member->weight, 2);
  EXPECT_EQ(member->store_bytes, 6U);
}

TEST_F(MembershipTest, GoesDownAgainAfterAGoodbyeUnlessItIsHeardOf) {
  uint64_t fence = Join("a");
  ASSERT_TRUE(members_->Leave({.id = "a", .fence = fence}).ok());
  EXPECT_EQ(StateOf("a"), "down");
  EXPECT_TRUE(Beat("a", fence).ok());
  EXPECT_EQ(StateOf("a"), "up");
  EXPECT_EQ(members_->Leave({.id = "x", .fence = 1}).code(), StatusCode::kNotFound);
}

TEST_F(MembershipTest, GivesTheRosterToWhoHasAnother) {
  Join("a");
  auto roster = members_->roster();
  EXPECT_EQ(members_->RosterAfter(0), roster);
  EXPECT_EQ(members_->RosterAfter(roster->epoch()), nullptr);
  EXPECT_EQ(members_->RosterAfter(roster->epoch() - 1), roster);
}

// The nodes have heard of term 5; the store was wiped, or restored from before.
class WipedHeadTest : public MembershipTest {
 protected:
  static constexpr uint64_t kSeen = (uint64_t{5} << 32) + 9;
};

TEST_F(WipedHeadTest, RaisesItsTermAboveWhatNodesHaveSeen) {
  uint64_t fence = Join("a");
  auto beat = members_->Beat({.id = "a", .fence = fence, .roster_epoch = kSeen});
  EXPECT_EQ(beat.status().code(), StatusCode::kNotFound) << "it has to register again";
  EXPECT_GT(Join("a"), kSeen);
  EXPECT_GT(members_->roster()->epoch(), kSeen);
  EXPECT_EQ(members_->term(), 6U);
  EXPECT_EQ(store_.Get("term").ValueOrDie().value, R"({"term":6})");
  EXPECT_EQ(NextTerm(store_).ValueOrDie(), 7U) << "of the next head";
}

TEST_F(WipedHeadTest, RaisesItsTermAlsoWithinTheSameOne) {
  uint64_t fence = Join("a");
  uint64_t newer = members_->roster()->epoch() + 1;
  EXPECT_FALSE(members_->Beat({.id = "a", .fence = fence, .roster_epoch = newer}).ok());
  EXPECT_GT(Join("a"), newer);
  EXPECT_EQ(members_->term(), term_ + 1);
}

TEST_F(WipedHeadTest, LeavesTheOtherNodesAlone) {
  uint64_t fence = Join("a");
  Join("b");
  EXPECT_FALSE(members_->Beat({.id = "b", .fence = 1, .roster_epoch = kSeen}).ok());
  EXPECT_TRUE(Beat("a", fence).ok());
}

TEST_F(WipedHeadTest, RaisesItsTermForThoseWhoOnlyWatch) {
  Join("a");
  EXPECT_NE(members_->RosterAfter(kSeen), nullptr);
  EXPECT_LT(members_->roster()->epoch(), kSeen) << "a question does not wait for that";
  ASSERT_TRUE(members_->CatchUp().ok());
  EXPECT_GT(members_->roster()->epoch(), kSeen);
  uint64_t epoch = members_->roster()->epoch();
  ASSERT_TRUE(members_->CatchUp().ok());
  EXPECT_EQ(members_->roster()->epoch(), epoch) << "once";
}

TEST_F(WipedHeadTest, StandsBackWhereTheStoreKnowsALaterHead) {
  Join("a");
  ASSERT_TRUE(store_.Put("term", R"({"term":5})", {}).ok());
  (void)members_->RosterAfter(kSeen);
  EXPECT_EQ(members_->CatchUp().code(), StatusCode::kUnavailable);
  EXPECT_EQ(members_->Register({.id = "b", .instance = "1"}).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(members_->term(), term_);
}

TEST_F(WipedHeadTest, BelievesNoTermThatHeadsCannotReach) {
  uint64_t fence = Join("a");
  uint64_t lie = (kSeenTermMax + 1) << 32;
  auto beat = members_->Beat({.id = "a", .fence = fence, .roster_epoch = lie});
  EXPECT_EQ(beat.status().code(), StatusCode::kInvalid);
  (void)members_->RosterAfter(lie);
  EXPECT_TRUE(members_->CatchUp().ok());
  EXPECT_EQ(members_->term(), term_);
  (void)members_->RosterAfter((kSeenTermMax << 32) + 1);
  EXPECT_TRUE(members_->CatchUp().ok());
  EXPECT_EQ(members_->term(), kSeenTermMax + 1);
}

}  // namespace
}  // namespace forebay::cluster
