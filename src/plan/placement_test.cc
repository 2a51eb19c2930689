#include "plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace forebay::plan {
namespace {

constexpr int kUnits = 40'000;

Hash128 Unit(int i) { return HashBytes("unit " + std::to_string(i)); }

std::vector<PlacementMember> Members(int count) {
  std::vector<PlacementMember> members;
  for (int i = 0; i < count; ++i) {
    members.push_back({.id = MemberHash("node-" + std::to_string(i))});
  }
  return members;
}

Placement Place(const std::vector<PlacementMember>& members, uint32_t replicas = 1) {
  return Placement::Make(members, replicas).ValueOrDie();
}

// Five standard deviations of a binomial count: fails by chance once in 1e6 tries, and
// nothing here is chance.
void ExpectShare(int count, double share) {
  double expected = kUnits * share;
  EXPECT_NEAR(count, expected, 5 * std::sqrt(expected * (1 - share)));
}

std::vector<int> FirstOwners(const Placement& placement, size_t members) {
  std::vector<int> counts(members);
  for (int i = 0; i < kUnits; ++i) ++counts[placement.Owners(Unit(i))[0]];
  return counts;
}

TEST(Placement, GivesEqualMembersEqualShares) {
  auto counts = FirstOwners(Place(Members(16)), 16);
  for (int count : counts) ExpectShare(count, 1.0 / 16);
}

TEST(Placement, GivesSharesByWeight) {
  auto members = Members(4);
  for (int i = 0; i < 4; ++i) members[i].weight = i + 1;
  auto counts = FirstOwners(Place(members), 4);
  for (int i = 0; i < 4; ++i) ExpectShare(counts[i], (i + 1) / 10.0);
}

TEST(Placement, GivesSecondPlacesByWeightToo) {
  auto members = Members(3);
  members[2].weight = 2;
  Placement placement = Place(members, 2);
  int second = 0;
  for (int i = 0; i < kUnits; ++i) second += placement.Owners(Unit(i))[1] == 2 ? 1 : 0;
  // Drawn first with 1/2; else (1/2) it is second against one member of weight 1: 2/3.
  ExpectShare(second, 1.0 / 3);
}

TEST(Placement, MovesOnlyTheShareOfAMemberThatJoins) {
  auto members = Members(10);
  Placement before = Place(members, 2);
  members.push_back({.id = MemberHash("the new one")});
  Placement after = Place(members, 2);
  int moved = 0;
  for (int i = 0; i < kUnits; ++i) {
    auto then = before.Owners(Unit(i));
    auto now = after.Owners(Unit(i));
    if (then == now) continue;
    ++moved;
    ASSERT_TRUE(std::ranges::find(now, 10U) != now.end()) << "moved between old members";
    std::erase(now, 10U);
    ASSERT_EQ(now.size(), 1U);
    EXPECT_EQ(now[0], then[0]) << "the better of the old owners stays";
  }
  ExpectShare(moved, 2.0 / 11);
}

TEST(Placement, MovesOnlyTheShareOfAMemberThatLeaves) {
  auto members = Members(10);
  Placement before = Place(members);
  members.pop_back();
  Placement after = Place(members);
  for (int i = 0; i < kUnits; ++i) {
    auto then = before.Ranked(Unit(i), 2);
    EXPECT_EQ(after.Owners(Unit(i))[0], then[0] == 9 ? then[1] : then[0]);
  }
}

TEST(Placement, MovesOnlyTowardsAMemberThatGetsHeavier) {
  auto members = Members(5);
  Placement before = Place(members);
  members[3].weight = 1.5;
  Placement after = Place(members);
  int gained = 0;
  for (int i = 0; i < kUnits; ++i) {
    uint32_t then = before.Owners(Unit(i))[0];
    uint32_t now = after.Owners(Unit(i))[0];
    if (then == now) continue;
    EXPECT_EQ(now, 3U);
    ++gained;
  }
  ExpectShare(gained, 1.5 / 5.5 - 1.0 / 5);
}

TEST(Placement, DoesNotDependOnTheOrderOfMembers) {
  auto members = Members(12);
  for (int i = 0; i < 12; ++i) members[i].weight = 1 + i % 3;
  auto turned = members;
  std::ranges::reverse(turned);
  Placement one = Place(members, 3);
  Placement other = Place(turned, 3);
  for (int i = 0; i < 1'000; ++i) {
    auto owners = other.Owners(Unit(i));
    for (uint32_t& owner : owners) owner = 11 - owner;
    EXPECT_EQ(one.Owners(Unit(i)), owners);
  }
}

TEST(Placement, GivesDifferentOwnersAndNoMoreThanThereAre) {
  auto members = Members(3);
  members[1].weight = 0;
  Placement placement = Place(members, 5);
  EXPECT_EQ(placement.owner_count(), 2U);
  for (int i = 0; i < 1'000; ++i) {
    auto owners = placement.Owners(Unit(i));
    EXPECT_EQ(std::set<uint32_t>(owners.begin(), owners.end()),
              (std::set<uint32_t>{0, 2}));
  }
  EXPECT_TRUE(Place({}).Owners(Unit(0)).empty());
}

TEST(Placement, RanksTheOwnersFirst) {
  Placement placement = Place(Members(9), 2);
  for (int i = 0; i < 1'000; ++i) {
    auto ranked = placement.Ranked(Unit(i), 9);
    ASSERT_EQ(ranked.size(), 9U);
    auto owners = placement.Owners(Unit(i));
    EXPECT_TRUE(std::equal(owners.begin(), owners.end(), ranked.begin()));
    EXPECT_TRUE(placement.Owns(Unit(i), ranked[1]));
    EXPECT_FALSE(placement.Owns(Unit(i), ranked[2]));
  }
}

// Nodes of different releases must agree: these values are a format.
TEST(Placement, KeepsItsValues) {
  auto members = Members(100);
  for (int i = 50; i < 100; ++i) members[i].weight = 2.5;
  Placement placement = Place(members, 3);
  EXPECT_EQ(placement.Owners(Unit(0)), (std::vector<uint32_t>{54, 90, 62}));
  EXPECT_EQ(placement.Owners(Unit(1)), (std::vector<uint32_t>{50, 75, 89}));
  EXPECT_EQ(placement.Owners(Unit(2)), (std::vector<uint32_t>{76, 77, 1}));
}

TEST(Placement, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(Placement::Make(Members(2), 0).ok());
  auto twice = Members(2);
  twice[1].id = twice[0].id;
  EXPECT_FALSE(Placement::Make(twice, 1).ok());
  for (double weight : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto members = Members(2);
    members[1].weight = weight;
    EXPECT_FALSE(Placement::Make(members, 1).ok()) << weight;
  }
}

}  // namespace
}  // namespace forebay::plan
