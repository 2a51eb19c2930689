#include "node/second_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace forebay::node {
namespace {

using cluster::MemberState;
using cluster::Roster;
using storage::EvictionCandidate;

// Oldest first, so that tests can say which order they start from.
class SecondCopiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetRoster(1, MemberState::kUp);
    copies_->Join(
        {.self = "b",
         .roster = [this] { return roster_; },
         .stored = [this](const Hash128& key) { return stored_.contains(key); }});
  }
  void SetRoster(uint64_t epoch, MemberState a) {
    roster_ =
        Roster::Make({.epoch = epoch,
                      .members = {{.id = "a", .state = a}, {.id = "b"}, {.id = "c"}}})
            .ValueOrDie();
  }
  // The next unit that these members have the first places of, in this order.
  Hash128 UnitOf(const std::string& first, const std::string& second) {
    SetRoster(1, MemberState::kUp);
    for (;;) {
      ++last_.low;
      auto owners = roster_->Owners(last_, 2);
      if (roster_->members()[owners[0]].id == first &&
          roster_->members()[owners[1]].id == second) {
        return last_;
      }
    }
  }
  // A chunk that is used after all those before it.
  void Add(const std::string& name, std::optional<Hash128> unit, uint64_t size = 10) {
    Hash128 key = HashBytes(name);
    names_[key] = name;
    stored_.insert(key);
    candidates_.push_back({.key = key, .size = size, .last_use_ns = ++now_});
    if (unit) copies_->Note(key, *unit);
  }
  std::vector<std::string> Order() {
    SecondCopiesFirst policy(std::make_unique<storage::LeastRecentUse>(), copies_);
    auto candidates = candidates_;
    std::ranges::reverse(candidates);
    policy.Order(candidates);
    std::vector<std::string> names;
    for (const auto& candidate : candidates) names.push_back(names_[candidate.key]);
    return names;
  }
  using Names = std::vector<std::string>;

  std::shared_ptr<const Roster> roster_;
  std::shared_ptr<SecondCopies> copies_ = std::make_shared<SecondCopies>();
  std::vector<EvictionCandidate> candidates_;
  std::map<Hash128, std::string> names_;
  std::set<Hash128> stored_;
  Hash128 last_{};
  int64_t now_ = 0;
};

TEST_F(SecondCopiesTest, GoBeforeWhatThisNodeIsTheFirstToKeep) {
  Add("b1", UnitOf("b", "a"));
  Add("b2", UnitOf("b", "c"));
  Add("a1", UnitOf("a", "b"));
  Add("c1", UnitOf("c", "b"));
  EXPECT_EQ(Order(), (Names{"a1", "c1", "b1", "b2"}));
}

TEST_F(SecondCopiesTest, AreTheLastOnesOnceTheFirstMemberIsDown) {
  Hash128 unit = UnitOf("a", "b");
  Hash128 other = UnitOf("c", "b");
  Add("a1", unit);
  Add("c1", other);
  EXPECT_EQ(Order(), (Names{"a1", "c1"}));
  SetRoster(2, MemberState::kDown);
  EXPECT_EQ(Order(), (Names{"c1", "a1"})) << "nobody else has a1";
  SetRoster(3, MemberState::kUp);
  EXPECT_EQ(Order(), (Names{"a1", "c1"}));
}

TEST_F(SecondCopiesTest, ThatStandInForOneThatIsDownAreSecondStill) {
  // b is third in rank; while a is down, c is first and b second.
  Hash128 unit = UnitOf("a", "c");
  Hash128 own = UnitOf("b", "c");
  Add("own", own);
  Add("stand-in", unit);
  SetRoster(2, MemberState::kDown);
  EXPECT_EQ(Order(), (Names{"stand-in", "own"}));
}

TEST_F(SecondCopiesTest, WhatBelongsToNoClusterIsKeptAsAFirstCopy) {
  Add("local", std::nullopt);
  Add("a1", UnitOf("a", "b"));
  EXPECT_EQ(Order(), (Names{"a1", "local"}));
}

TEST_F(SecondCopiesTest, LeaveAQuarterOfTheRoomToOthers) {
  for (int i = 0; i < 9; ++i) Add("b" + std::to_string(i), UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  // Of 100 bytes 75 are kept: the seven first copies that were used last.
  EXPECT_EQ(Order(), (Names{"b0", "b1", "a1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"}));
}

TEST_F(SecondCopiesTest, KeepExactlyTheShareThatTheyMay) {
  Add("b0", UnitOf("b", "a"), 75);
  Add("a1", UnitOf("a", "b"), 25);
  EXPECT_EQ(Order(), (Names{"a1", "b0"}));
  candidates_[0].size = 76;
  EXPECT_EQ(Order(), (Names{"b0", "a1"}));
}

TEST_F(SecondCopiesTest, MeanNothingWhereASlowerTierTakesWhatGoes) {
  Add("b1", UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  for (auto& candidate : candidates_) candidate.leaves_store = false;
  EXPECT_EQ(Order(), (Names{"b1", "a1"}));
}

TEST_F(SecondCopiesTest, MeanNothingBeforeANodeHasJoinedOrWithoutARoster) {
  Add("b1", UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  roster_ = Roster::Empty();
  EXPECT_EQ(Order(), (Names{"b1", "a1"}));
  copies_ = std::make_shared<SecondCopies>();
  EXPECT_EQ(Order(), (Names{"b1", "a1"}));
  candidates_.clear();
  EXPECT_TRUE(Order().empty());
}

TEST_F(SecondCopiesTest, ForgetsChunksThatHaveLeftTheStore) {
  for (int i = 0; i < 100'000; ++i) {
    copies_->Note(HashBytes(std::to_string(i)), Hash128{0, static_cast<uint64_t>(i)});
    ASSERT_LE(copies_->noted_count(), 4096U);
  }
  for (int i = 0; i < 10'000; ++i) {
    Hash128 key = HashBytes("kept " + std::to_string(i));
    stored_.insert(key);
    copies_->Note(key, Hash128{1, static_cast<uint64_t>(i)});
  }
  EXPECT_GE(copies_->noted_count(), 10'000U) << "what is stored is not forgotten";
}

}  // namespace
}  // namespace forebay::node
