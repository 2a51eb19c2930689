#include "cluster/messages.h"

#include <gtest/gtest.h>

#include <map>

namespace forebay::cluster {
namespace {

TEST(Messages, AreTheSameAfterJson) {
  auto registration = ParseRegistration(ToJson(Registration{.id = "a",
                                                            .instance = "i",
                                                            .host = "h",
                                                            .flight = "h:1",
                                                            .http = "h:2",
                                                            .weight = 2.5,
                                                            .store_bytes = 77}))
                          .ValueOrDie();
  EXPECT_EQ(registration.id + registration.instance + registration.host, "aih");
  EXPECT_EQ(registration.flight + registration.http, "h:1h:2");
  EXPECT_EQ(registration.weight, 2.5);
  EXPECT_EQ(registration.store_bytes, 77U);

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

TEST(Messages, LeaveUnknownMembersOfAnswersAlone) {
  EXPECT_TRUE(ParseHeartbeatAnswer(R"({"of a later release": [1]})").ok());
  EXPECT_TRUE(ParseRegistered(R"({"fence": 1, "of a later release": [1]})").ok());
}

TEST(Messages, RefuseUnknownMembersOfRequests) {
  auto said = [](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    return status.message();
  };
  EXPECT_EQ(said(ParseRegistration(R"({"id": "a", "instance": "i", "host": "h",
                                       "flight": "h:1", "wieght": 1})")
                     .status()),
            "a registration has no member 'wieght'; did you mean weight?");
  EXPECT_EQ(said(ParseHeartbeat(R"({"id": "a", "fence": 1, "roster_epoch": 1,
                                    "reprot": {}})")
                     .status()),
            "a heartbeat has no member 'reprot'; did you mean report?");
}

TEST(Messages, SurviveReportsThatAreNestedDeeply) {
  std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  auto beat = ParseHeartbeat(
      R"({"id": "a", "fence": 1, "roster_epoch": 1, "report": {"x":)" + deep + "}}");
  EXPECT_EQ(beat.status().code(), StatusCode::kInvalid);
}

TEST(Messages, NameSeveralHeads) {
  using Heads = std::vector<std::string>;
  EXPECT_EQ(SplitHeads("a:1"), Heads{"a:1"});
  EXPECT_EQ(SplitHeads("a:1,b:2"), (Heads{"a:1", "b:2"}));
  EXPECT_EQ(SplitHeads(",a:1,,b:2,"), (Heads{"a:1", "b:2"}));
  EXPECT_TRUE(SplitHeads("").empty());
  EXPECT_TRUE(SplitHeads(",").empty());
}

TEST(Messages, HaveOneHttpStatusForEachCode) {
  const std::map<StatusCode, int> statuses = {
      {StatusCode::kOk, 200},        {StatusCode::kInvalid, 400},
      {StatusCode::kNotFound, 404},  {StatusCode::kPermission, 403},
      {StatusCode::kChanged, 409},   {StatusCode::kCorrupt, 500},
      {StatusCode::kFull, 507},      {StatusCode::kUnavailable, 503},
      {StatusCode::kDeadline, 504},  {StatusCode::kUnsupported, 501},
      {StatusCode::kCancelled, 499}, {StatusCode::kInternal, 500}};
  for (const auto& [code, status] : statuses) {
    EXPECT_EQ(HttpStatusOf(code), status) << StatusCodeName(code);
  }
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
  EXPECT_EQ(StatusOfAnswer(300, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(StatusOfAnswer(199, "").code(), StatusCode::kUnavailable);
  EXPECT_TRUE(StatusOfAnswer(200, R"({"error": {"code": "not found"}})").ok());
  EXPECT_TRUE(StatusOfAnswer(299, "").ok());
  EXPECT_EQ(StatusOfAnswer(401, "").code(), StatusCode::kPermission);
  EXPECT_EQ(StatusOfAnswer(400, "").code(), StatusCode::kInvalid);
  EXPECT_EQ(StatusOfAnswer(413, "").code(), StatusCode::kInvalid);
  EXPECT_EQ(StatusOfAnswer(500, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(StatusOfAnswer(404, R"({"error": {"code": "new", "message": "m"}})").code(),
            StatusCode::kInternal)
      << "a code of a later release";
}

}  // namespace
}  // namespace forebay::cluster
