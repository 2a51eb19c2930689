#include "cluster/membership.h"

#include <gtest/gtest.h>

#include "meta/memory_store.h"

namespace forebay::cluster {
namespace {

using std::chrono::minutes;

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
  meta::MemoryStore store_{&clock_};
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
  EXPECT_TRUE(members_->roster()->members().empty());
}

TEST_F(MembershipTest, SaysSoWhenItsStoreIsSpoiled) {
  ASSERT_TRUE(store_.Put("members/x", "{}", {}).ok());
  auto loaded = Membership::Load({.store = &store_, .clock = &clock_});
  EXPECT_EQ(loaded.status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace forebay::cluster
