#include "cluster/messages.h"

#include <gtest/gtest.h>

namespace forebay::cluster {
namespace {

TEST(Messages, AreTheSameAfterJson) {
  auto registration = ParseRegistration(ToJson(Registration{.id = "a",
                                                            .instance = "i",
                                                            .host = "h",
                                                            .flight = "h:1",
                                                            .http = "h:2",
                                                            .weight = 2.5}))
                          .ValueOrDie();
  EXPECT_EQ(registration.id + registration.instance + registration.host, "aih");
  EXPECT_EQ(registration.flight + registration.http, "h:1h:2");
  EXPECT_EQ(registration.weight, 2.5);

  auto roster = Roster::Make({.epoch = 9}).ValueOrDie();
  auto registered =
      ParseRegistered(ToJson(Registered{.fence = 5, .roster = roster})).ValueOrDie();
  EXPECT_EQ(registered.fence, 5U);
  EXPECT_EQ(registered.roster->epoch(), 9U);

  auto beat = ParseHeartbeat(ToJson(Heartbeat{.id = "a",
                                              .fence = uint64_t{3} << 40,
                                              .roster_epoch = 8,
                                              .report = R"({"x":1})"}))
                  .ValueOrDie();
  EXPECT_EQ(beat.fence, uint64_t{3} << 40);
  EXPECT_EQ(beat.roster_epoch, 8U);
  EXPECT_EQ(beat.report, R"({"x":1})");

  auto answer = ParseHeartbeatAnswer(ToJson(HeartbeatAnswer{.orders = R"([{"warm":1}])"}))
                    .ValueOrDie();
  EXPECT_EQ(answer.roster, nullptr);
  EXPECT_EQ(answer.orders, R"([{"warm":1}])");
}

TEST(Messages, LeaveUnknownMembersAlone) {
  EXPECT_TRUE(ParseHeartbeatAnswer(R"({"of a later release": [1]})").ok());
}

TEST(Messages, NameWhatIsMissing) {
  auto beat = ParseHeartbeat(R"({"id": "a", "fence": "5"})");
  EXPECT_EQ(beat.status().code(), StatusCode::kInvalid);
  EXPECT_EQ(beat.status().message(), "a heartbeat has no whole number 'fence'");
}

TEST(Messages, CarryEveryStatusOverHttp) {
  for (int i = 1; i <= static_cast<int>(StatusCode::kInternal); ++i) {
    Status status(static_cast<StatusCode>(i), "why \"it\" failed\xff");
    EXPECT_GE(HttpStatusOf(status.code()), 400);
    Status again = StatusOfAnswer(HttpStatusOf(status.code()), ErrorJson(status));
    EXPECT_EQ(again.code(), status.code());
    EXPECT_TRUE(again.message().starts_with("why \"it\" failed"));
  }
  EXPECT_TRUE(StatusOfAnswer(204, "").ok());
}

TEST(Messages, TakeAnswersThatAreNotOurs) {
  EXPECT_EQ(StatusOfAnswer(502, "<html>").code(), StatusCode::kUnavailable);
  EXPECT_EQ(StatusOfAnswer(404, "").code(), StatusCode::kNotFound);
  EXPECT_EQ(StatusOfAnswer(403, R"({"error": 5})").code(), StatusCode::kPermission);
  EXPECT_EQ(StatusOfAnswer(302, "").code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace forebay::cluster
