#include "cli/cluster/head_call.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "http/server.h"

namespace forebay::cli {
namespace {

using nlohmann::json;

std::unique_ptr<http::Server> Serve(http::Answer answer) {
  return http::Server::Start({}, std::move(answer)).ValueOrDie();
}

std::string AddressOf(const http::Server& server) {
  return fmt::format("127.0.0.1:{}", server.port());
}

http::Reply Redirect(const std::string& address, const http::Received& request) {
  return {.status = 307, .headers = {{"Location", "http://" + address + request.target}}};
}

http::Reply NotFound() {
  return {.status = 404,
          .body = R"({"error": {"code": "not found", "message": "no such dataset"}})"};
}

TEST(HeadCall, GivesWhatTheHeadAnswers) {
  auto head = Serve([](const http::Received& request) {
    json echo = {{"method", request.method}, {"path", request.path}};
    echo["body"] = request.body;
    return http::Reply{.body = echo.dump()};
  });
  HeadCall call = HeadCall::To(AddressOf(*head)).ValueOrDie();
  json answer = call.Post("/v1/datasets", {{"name", "x"}}).ValueOrDie();
  EXPECT_EQ(TextIn(answer, "method"), "POST");
  EXPECT_EQ(TextIn(answer, "path"), "/v1/datasets");
  EXPECT_EQ(TextIn(answer, "body"), R"({"name":"x"})");
  EXPECT_EQ(TextIn(call.Delete("/v1/datasets/x").ValueOrDie(), "method"), "DELETE");
  EXPECT_TRUE(call.Answers());
}

TEST(HeadCall, GoesWhereAHeadThatDoesNotLeadSendsIt) {
  auto leader = Serve([](const http::Received& request) {
    return http::Reply{.body = json{{"path", request.target}}.dump()};
  });
  auto other = Serve([&](const http::Received& request) {
    return Redirect(AddressOf(*leader), request);
  });
  HeadCall call = HeadCall::To(AddressOf(*other)).ValueOrDie();
  EXPECT_EQ(TextIn(call.Get("/v1/nodes?x=1").ValueOrDie(), "path"), "/v1/nodes?x=1");
}

TEST(HeadCall, GivesUpOnHeadsThatSendItInCircles) {
  std::atomic<int> asked{0};
  std::string address;
  auto head = Serve([&](const http::Received& request) {
    // Ends the test also where nobody counts.
    if (++asked > 100) return http::Reply{.status = 500, .body = "{}"};
    return Redirect(address, request);
  });
  address = AddressOf(*head);
  HeadCall call = HeadCall::To(address).ValueOrDie();
  EXPECT_FALSE(call.Get("/v1/nodes").ok());
  EXPECT_EQ(asked, 4) << "once, and three times where it was sent";
}

TEST(HeadCall, AsksTheNextHeadWhereOneIsNotThere) {
  auto head = Serve([](const http::Received&) { return http::Reply{.body = "{}"}; });
  HeadCall call = HeadCall::To("127.0.0.1:1," + AddressOf(*head)).ValueOrDie();
  EXPECT_TRUE(call.Get("/v1/nodes").ok());
  EXPECT_TRUE(call.Post("/v1/datasets", json::object()).ok());
  EXPECT_TRUE(call.Answers());
}

TEST(HeadCall, TakesARefusalForTheAnswer) {
  std::atomic<int> asked{0};
  auto second = Serve([&](const http::Received&) {
    ++asked;
    return http::Reply{.body = "{}"};
  });
  auto first = Serve([](const http::Received&) { return NotFound(); });
  HeadCall call = HeadCall::To(AddressOf(*first) + "," + AddressOf(*second)).ValueOrDie();
  Status status = call.Get("/v1/datasets/x").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("no such dataset"), std::string::npos) << status;
  EXPECT_EQ(asked, 0);
}

TEST(HeadCall, ADeleteWhoseAnswerWasLostIsDone) {
  std::atomic<bool> deleted{false};
  // As a head that ends before its answer is out: its store has done it.
  auto first = Serve([&](const http::Received& request) {
    if (request.method != "DELETE") return http::Reply{.body = "ok"};
    deleted = true;
    return http::Reply{.status = 503, .body = "{}"};
  });
  auto second = Serve([&](const http::Received&) {
    return deleted ? NotFound() : http::Reply{.body = "{}"};
  });
  HeadCall call = HeadCall::To(AddressOf(*first) + "," + AddressOf(*second)).ValueOrDie();
  EXPECT_TRUE(call.Delete("/v1/datasets/x").ok());
  EXPECT_TRUE(deleted);
  HeadCall once = HeadCall::To(AddressOf(*second)).ValueOrDie();
  EXPECT_EQ(once.Delete("/v1/datasets/x").status().code(), StatusCode::kNotFound);
}

// A node that was down is gone once it is drained.
TEST(HeadCall, ADrainWhoseAnswerWasLostIsDone) {
  std::atomic<bool> drained{false};
  auto first = Serve([&](const http::Received& request) {
    if (request.target == "/healthz") return http::Reply{.body = "ok"};
    drained = request.method == "POST" && request.target == "/v1/nodes/a%2Fb/drain";
    return http::Reply{.status = 503, .body = "{}"};
  });
  auto second = Serve([](const http::Received&) { return NotFound(); });
  HeadCall call = HeadCall::To(AddressOf(*first) + "," + AddressOf(*second)).ValueOrDie();
  EXPECT_TRUE(call.DrainNode("a/b").ok());
  EXPECT_TRUE(drained);
  HeadCall once = HeadCall::To(AddressOf(*second)).ValueOrDie();
  EXPECT_EQ(once.DrainNode("a/b").status().code(), StatusCode::kNotFound);
}

TEST(HeadCall, ADeleteThatNoOtherHeadWasToldFindsNothing) {
  auto head = Serve([](const http::Received&) { return NotFound(); });
  HeadCall call = HeadCall::To("127.0.0.1:1," + AddressOf(*head)).ValueOrDie();
  EXPECT_EQ(call.Delete("/v1/datasets/x").status().code(), StatusCode::kNotFound);
}

TEST(HeadCall, TakesAnAnswerThatIsNotJsonForCorrupt) {
  auto head = Serve([](const http::Received&) { return http::Reply{.body = "hello"}; });
  HeadCall call = HeadCall::To(AddressOf(*head)).ValueOrDie();
  EXPECT_EQ(call.Get("/v1/nodes").status().code(), StatusCode::kCorrupt);
}

TEST(HeadCall, KnowsTheHeadFromTheEnvironment) {
  ::setenv("FOREBAY_HEAD", "elsewhere:1", 1);
  EXPECT_EQ(GivenHeads(""), "elsewhere:1");
  EXPECT_EQ(GivenHeads("here:2"), "here:2");
  ::unsetenv("FOREBAY_HEAD");
  EXPECT_EQ(GivenHeads(""), "");
}

TEST(MembersOfAnswers, AreEmptyWhereTheyAreMissingOrOfAnotherKind) {
  json answer = {{"text", "x"}, {"number", 5}, {"less", -5}, {"list", {1, 2}}};
  EXPECT_EQ(TextIn(answer, "text"), "x");
  EXPECT_EQ(TextIn(answer, "number"), "");
  EXPECT_EQ(NumberIn(answer, "number"), 5u);
  EXPECT_EQ(NumberIn(answer, "less"), 0u);
  EXPECT_EQ(NumberIn(answer, "text"), 0u);
  EXPECT_EQ(RealIn(answer, "number"), 5.0);
  EXPECT_EQ(ListIn(answer, "list").size(), 2u);
  EXPECT_TRUE(ListIn(answer, "text").empty());
  EXPECT_TRUE(ListIn(json::array(), "list").empty());
}

}  // namespace
}  // namespace forebay::cli
