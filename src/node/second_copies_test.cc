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
    clock_.Advance(std::chrono::nanoseconds(1));
    candidates_.push_back({.key = key, .size = size, .last_use_ns = clock_.WallNanos()});
    if (unit) copies_->Note(key, {.unit = *unit, .version = version_});
  }
  SecondCopiesFirst Policy() {
    return SecondCopiesFirst({.order = std::make_unique<storage::LeastRecentUse>(),
                              .copies = copies_,
                              .rows_until =
                                  [this](const Hash128& key) {
                                    auto found = rows_until_.find(names_[key]);
                                    return found != rows_until_.end()
                                               ? std::optional(found->second)
                                               : std::nullopt;
                                  },
                              .clock = &clock_});
  }
  using Names = std::vector<std::string>;
  Names NamesOf(const std::vector<EvictionCandidate>& candidates) {
    Names names;
    for (const auto& candidate : candidates) names.push_back(names_[candidate.key]);
    return names;
  }
  Names Order() {
    auto candidates = candidates_;
    std::ranges::reverse(candidates);
    Policy().Order(candidates);
    return NamesOf(candidates);
  }
  // What goes for a second copy, with a bar after what goes while memory can be lent.
  Names OrderFor(const std::string& name) {
    names_[HashBytes(name)] = name;
    auto candidates = candidates_;
    std::ranges::reverse(candidates);
    size_t count = Policy().OrderForSecondCopy(HashBytes(name), candidates);
    Names names = NamesOf(candidates);
    names.insert(names.begin() + static_cast<ptrdiff_t>(count), "|");
    return names;
  }

  std::shared_ptr<const Roster> roster_;
  std::shared_ptr<SecondCopies> copies_ = std::make_shared<SecondCopies>();
  std::vector<EvictionCandidate> candidates_;
  std::map<Hash128, std::string> names_;
  std::set<Hash128> stored_;
  std::map<std::string, uint64_t> rows_until_;
  Hash128 last_{};
  Hash128 version_{0, 1};
  FakeClock clock_;
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

TEST_F(SecondCopiesTest, GoForOtherSecondCopiesAndFirstCopiesDoNot) {
  Add("b1", UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  Add("local", std::nullopt);
  Add("a2", UnitOf("a", "b"));
  EXPECT_EQ(OrderFor("a3"), (Names{"a1", "a2", "|", "b1", "local"}));
}

TEST_F(SecondCopiesTest, DoNotGoForThoseThatAreNeededNoSooner) {
  for (const char* name : {"a0", "a10", "a20", "unknown"}) Add(name, UnitOf("a", "b"));
  rows_until_ = {{"a0", 0}, {"a10", 10}, {"a20", 20}};
  rows_until_["new"] = 10;
  EXPECT_EQ(OrderFor("new"), (Names{"a20", "unknown", "|", "a0", "a10"}));
  rows_until_.erase("new");
  EXPECT_EQ(OrderFor("new"), (Names{"unknown", "|", "a0", "a10", "a20"}));
}

// Without memory to lend, readers of several windows would evict what the others have
// asked for and not read yet.
TEST_F(SecondCopiesTest, StayBeforeFirstCopiesThatAreNeededLater) {
  Add("b5", UnitOf("b", "a"));
  Add("a5", UnitOf("a", "b"));
  Add("b50", UnitOf("b", "a"));
  rows_until_ = {{"b5", 5}, {"a5", 5}, {"b50", 50}, {"new", 10}};
  EXPECT_EQ(OrderFor("new"), (Names{"|", "b50", "a5", "b5"}));
}

TEST_F(SecondCopiesTest, StayLongerThanVersionsThatNobodyUses) {
  Add("old 1", UnitOf("b", "a"));
  Add("old 2", UnitOf("b", "a"));
  Add("local", std::nullopt);
  Add("manifest", std::nullopt);
  candidates_.back().kind = model::ChunkKind::kManifest;
  version_ = {0, 2};
  Add("b1", UnitOf("b", "a"));
  clock_.Advance(SecondCopiesFirst::kIdleAfter);
  Add("b2", UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  EXPECT_EQ(Order(), (Names{"old 1", "old 2", "local", "a1", "manifest", "b1", "b2"}));
  EXPECT_EQ(OrderFor("a2"),
            (Names{"old 1", "old 2", "local", "a1", "|", "manifest", "b1", "b2"}));
  // One chunk that is used keeps its version in use, and so does a reader.
  candidates_[1].last_use_ns = clock_.WallNanos();
  rows_until_["local"] = 100;
  EXPECT_EQ(Order(), (Names{"a1", "old 1", "local", "manifest", "b1", "b2", "old 2"}));
}

TEST_F(SecondCopiesTest, AreKnownByTheirKeys) {
  Add("b1", UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  EXPECT_TRUE(Policy().IsSecondCopy(HashBytes("a1")));
  EXPECT_FALSE(Policy().IsSecondCopy(HashBytes("b1")));
  EXPECT_FALSE(Policy().IsSecondCopy(HashBytes("unknown")));
  SetRoster(2, MemberState::kDown);
  EXPECT_FALSE(Policy().IsSecondCopy(HashBytes("a1")));
}

TEST_F(SecondCopiesTest, MeanNothingWhereASlowerTierTakesWhatGoes) {
  Add("b1", UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  for (auto& candidate : candidates_) candidate.leaves_store = false;
  EXPECT_EQ(Order(), (Names{"b1", "a1"}));
  EXPECT_EQ(OrderFor("a2"), (Names{"b1", "a1", "|"}));
}

TEST_F(SecondCopiesTest, MeanNothingBeforeANodeHasJoinedOrWithoutARoster) {
  Add("b1", UnitOf("b", "a"));
  Add("a1", UnitOf("a", "b"));
  roster_ = Roster::Empty();
  EXPECT_EQ(Order(), (Names{"b1", "a1"}));
  copies_ = std::make_shared<SecondCopies>();
  EXPECT_EQ(Order(), (Names{"b1", "a1"}));
  EXPECT_FALSE(Policy().IsSecondCopy(HashBytes("a1")));
  candidates_.clear();
  EXPECT_TRUE(Order().empty());
}

TEST_F(SecondCopiesTest, ForgetsChunksThatHaveLeftTheStore) {
  for (int i = 0; i < 100'000; ++i) {
    copies_->Note(HashBytes(std::to_string(i)), {.unit = {0, static_cast<uint64_t>(i)}});
    ASSERT_LE(copies_->noted_count(), 4096U);
  }
  for (int i = 0; i < 10'000; ++i) {
    Hash128 key = HashBytes("kept " + std::to_string(i));
    stored_.insert(key);
    copies_->Note(key, {.unit = {1, static_cast<uint64_t>(i)}});
  }
  EXPECT_GE(copies_->noted_count(), 10'000U) << "what is stored is not forgotten";
}

}  // namespace
}  // namespace forebay::node
