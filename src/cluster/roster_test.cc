#include "cluster/roster.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace forebay::cluster {
namespace {

std::shared_ptr<const Roster> Five(MemberState of_third) {
  Roster::Options options{.epoch = 7, .timeout = milliseconds(2'000)};
  for (int i = 4; i >= 0; --i) {
    options.members.push_back({.id = "n" + std::to_string(i),
                               .host = "host",
                               .flight = "host:" + std::to_string(i),
                               .weight = 1.0 + i,
                               .state = i == 3 ? of_third : MemberState::kUp,
                               .fence = uint64_t{1} << 40});
  }
  return Roster::Make(std::move(options)).ValueOrDie();
}

Hash128 Unit(int i) { return HashBytes(std::to_string(i)); }

TEST(Roster, IsTheSameAfterJson) {
  auto roster = Five(MemberState::kDraining);
  auto again = ParseRoster(roster->json()).ValueOrDie();
  EXPECT_EQ(again->epoch(), 7U);
  EXPECT_EQ(again->timeout(), milliseconds(2'000));
  EXPECT_TRUE(std::ranges::equal(again->members(), roster->members()));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(again->Route(Unit(i), 2), roster->Route(Unit(i), 2));
  }
}

TEST(Roster, FindsMembersById) {
  auto roster = Five(MemberState::kUp);
  ASSERT_NE(roster->Find("n3"), nullptr);
  EXPECT_EQ(roster->Find("n3")->flight, "host:3");
  EXPECT_EQ(roster->Find("n5"), nullptr);
  EXPECT_EQ(Roster::Empty()->Find("n3"), nullptr);
}

TEST(Roster, KeepsThePlaceOfAMemberThatIsDownAndRoutesAroundIt) {
  auto all_up = Five(MemberState::kUp);
  auto one_down = Five(MemberState::kDown);
  int stood_in = 0;
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(one_down->Owners(Unit(i), 2), all_up->Owners(Unit(i), 2));
    auto ranked = all_up->Route(Unit(i), 3);
    stood_in += ranked[0] == 3 ? 1 : 0;
    std::erase(ranked, 3U);
    ranked.resize(2);
    EXPECT_EQ(one_down->Route(Unit(i), 2), ranked);
  }
  EXPECT_GT(stood_in, 50);
}

TEST(Roster, TakesThePlaceOfAMemberThatDrains) {
  auto roster = Five(MemberState::kDraining);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(roster->Owners(Unit(i), 5).size(), 4U);
    EXPECT_EQ(std::ranges::count(roster->Owners(Unit(i), 5), 3U), 0);
  }
}

TEST(Roster, RefusesWhatIsNoRoster) {
  EXPECT_FALSE(ParseRoster("").ok());
  EXPECT_FALSE(ParseRoster("[]").ok());
  EXPECT_FALSE(ParseRoster(R"({"epoch":1,"timeout_ms":4})").ok());
  EXPECT_FALSE(ParseRoster(R"({"epoch":-1,"timeout_ms":4,"members":[]})").ok());
  EXPECT_FALSE(ParseRoster(R"({"epoch":1,"timeout_ms":4,"members":[{"id":"a"}]})").ok());
  std::string twice = Five(MemberState::kUp)->json();
  twice.replace(twice.find("n4"), 2, "n3");
  EXPECT_FALSE(ParseRoster(twice).ok());
}

TEST(Roster, RoutesOnlyToWhoIsUp) {
  for (MemberState state : {MemberState::kDown, MemberState::kDraining}) {
    auto roster = Five(state);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(roster->Route(Unit(i), 5).size(), 4U);
      EXPECT_EQ(std::ranges::count(roster->Route(Unit(i), 5), 3U), 0);
    }
  }
}

TEST(Roster, FindsTheFirstAndTheLastMember) {
  auto roster = Five(MemberState::kUp);
  EXPECT_EQ(roster->Find("n0"), &roster->members()[0]);
  EXPECT_EQ(roster->Find("n4"), &roster->members()[4]);
  EXPECT_EQ(roster->Find(""), nullptr);
  EXPECT_EQ(roster->Find("n"), nullptr);
}

TEST(Roster, RefusesWeightsAndIdsThatAreNone) {
  Roster::Options light{.members = {{.id = "a", .weight = -1}}};
  EXPECT_EQ(Roster::Make(light).status().code(), StatusCode::kInvalid);
  Roster::Options twice{.members = {{.id = "a"}, {.id = "a"}}};
  EXPECT_EQ(Roster::Make(twice).status().code(), StatusCode::kInvalid);
}

TEST(MemberState, HasANameThatIsReadBack) {
  for (auto state : {MemberState::kUp, MemberState::kDown, MemberState::kDraining,
                     MemberState::kGone}) {
    EXPECT_EQ(ParseMemberState(MemberStateName(state)).ValueOrDie(), state);
  }
  EXPECT_EQ(MemberStateName(MemberState::kDown), "down");
  EXPECT_EQ(MemberStateName(MemberState::kGone), "gone");
  EXPECT_EQ(ParseMemberState("asleep").status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::cluster
