#include "node/peers/peer_calls.h"

#include <gtest/gtest.h>

namespace forebay::node {
namespace {

using Fault = PeerCalls::Fault;

TEST(PeerCalls, WhoFailedIsAvoidedForAWhile) {
  FakeClock clock;
  PeerCalls calls("self", &clock);
  cluster::Member silent{.id = "a", .fence = 7}, refused{.id = "b", .fence = 7};
  EXPECT_EQ(calls.Avoided(silent), std::nullopt);
  calls.Avoid(silent);
  calls.Avoid(refused, Fault::kRefused);
  EXPECT_EQ(calls.Avoided(silent), Fault::kSilent);
  EXPECT_EQ(calls.Avoided(refused), Fault::kRefused);
  clock.Advance(std::chrono::seconds(6));
  EXPECT_EQ(calls.Avoided(silent), std::nullopt);
}

TEST(PeerCalls, WhoRegisteredAnewIsAvoidedNoMore) {
  PeerCalls calls("self");
  calls.Avoid({.id = "a", .fence = 7});
  EXPECT_EQ(calls.Avoided({.id = "a", .fence = 7}), Fault::kSilent);
  EXPECT_EQ(calls.Avoided({.id = "a", .fence = 8}), std::nullopt);
}

TEST(PeerCalls, MembersThatHaveLeftAreForgotten) {
  PeerCalls calls("self");
  cluster::Member stays{.id = "a", .fence = 7}, leaves{.id = "b", .fence = 7};
  calls.Avoid(stays);
  calls.Avoid(leaves);
  calls.OnRoster(*cluster::Roster::Make({.epoch = 1, .members = {stays}}).ValueOrDie());
  EXPECT_EQ(calls.Avoided(stays), Fault::kSilent);
  EXPECT_EQ(calls.Avoided(leaves), std::nullopt);
}

}  // namespace
}  // namespace forebay::node
