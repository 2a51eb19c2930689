#include "cluster/head_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "cluster/messages.h"
#include "http/server.h"

namespace forebay::cluster {
namespace {

// A head that answers what a test says.
class TestHead {
 public:
  explicit TestHead(std::function<http::Reply(const http::Received&)> answer)
      : answer_(std::move(answer)),
        server_(http::Server::Start({}, [this](const http::Received& request) {
                  ++calls;
                  return answer_(request);
                }).ValueOrDie()) {}
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  std::atomic<int> calls{0};

 private:
  std::function<http::Reply(const http::Received&)> answer_;
  std::unique_ptr<http::Server> server_;
};

std::unique_ptr<HeadClient> ClientOf(std::vector<std::string> heads) {
  return HeadClient::Make({.heads = std::move(heads)}).ValueOrDie();
}

Deadline Soon() { return Deadline::After(milliseconds(20'000)); }

http::Reply Says(int status, std::string body) {
  return {.status = status, .body = std::move(body)};
}

http::Reply Refuses(const Status& status) {
  return Says(HttpStatusOf(status.code()), ErrorJson(status));
}

TEST(HeadClient, SendsMethodPathAndBody) {
  TestHead head([](const http::Received& request) {
    return Says(200, request.method + " " + request.target + " " + request.body);
  });
  auto client = ClientOf({head.address()});
  EXPECT_EQ(client->Get("/a?b=1", Soon()).ValueOrDie(), "GET /a?b=1 ");
  EXPECT_EQ(client->Post("/a", "{}", Soon()).ValueOrDie(), "POST /a {}");
  EXPECT_EQ(client->current(), "http://" + head.address());
}

TEST(HeadClient, KeepsTheMeaningOfErrorsAndAsksNoOtherForThem) {
  for (StatusCode code : {StatusCode::kInvalid, StatusCode::kNotFound,
                          StatusCode::kChanged, StatusCode::kPermission}) {
    TestHead head([&](const http::Received&) { return Refuses({code, "because"}); });
    TestHead other([](const http::Received&) { return Says(200, "yes"); });
    auto client = ClientOf({head.address(), other.address()});
    auto answer = client->Get("/", Soon());
    EXPECT_EQ(answer.status().code(), code);
    EXPECT_EQ(answer.status().message(), "because");
    EXPECT_EQ(other.calls, 0);
  }
}

TEST(HeadClient, GoesOnToTheNextAndStaysThere) {
  TestHead busy([](const http::Received&) { return Refuses(Status::Unavailable("no")); });
  TestHead good([](const http::Received&) { return Says(200, "yes"); });
  auto client = ClientOf({"127.0.0.1:1", busy.address(), good.address()});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client->Get("/", Soon()).ValueOrDie(), "yes");
  EXPECT_EQ(busy.calls, 1);
  EXPECT_EQ(good.calls, 3);
  EXPECT_EQ(client->current(), "http://" + good.address());
}

TEST(HeadClient, ComesBackToTheFirstWhenTheLastDoesNotAnswer) {
  std::atomic<bool> first_answers{false};
  TestHead first([&](const http::Received&) {
    return first_answers ? Says(200, "first") : Refuses(Status::Unavailable("no"));
  });
  TestHead second([&](const http::Received&) {
    return first_answers ? Refuses(Status::Unavailable("no")) : Says(200, "second");
  });
  auto client = ClientOf({first.address(), second.address()});
  EXPECT_EQ(client->Get("/", Soon()).ValueOrDie(), "second");
  first_answers = true;
  EXPECT_EQ(client->Get("/", Soon()).ValueOrDie(), "first");
}

TEST(HeadClient, SaysSoWhenNobodyAnswers) {
  auto client = ClientOf({"127.0.0.1:1", "127.0.0.1:2"});
  EXPECT_EQ(client->Get("/", Soon()).status().code(), StatusCode::kUnavailable);
  auto late = client->Get("/", Deadline::After(milliseconds(0)));
  EXPECT_EQ(late.status().code(), StatusCode::kDeadline);
}

TEST(HeadClient, FollowsToTheHeadThatLeads) {
  TestHead leader([](const http::Received& request) {
    return Says(200, request.method + " " + request.body);
  });
  TestHead follower([&](const http::Received& request) {
    http::Reply reply = Says(307, "");
    reply.headers.push_back({"Location", "http://" + leader.address() + request.target});
    return reply;
  });
  auto client = ClientOf({follower.address()});
  EXPECT_EQ(client->Post("/v1/x", "{}", Soon()).ValueOrDie(), "POST {}");
}

TEST(HeadClient, TakesAnswersUpToALimit) {
  TestHead head([](const http::Received&) { return Says(200, std::string(100, 'x')); });
  auto client =
      HeadClient::Make({.heads = {head.address()}, .answer_bytes_max = 100}).ValueOrDie();
  EXPECT_EQ(client->Get("/", Soon()).ValueOrDie().size(), 100U);
  client =
      HeadClient::Make({.heads = {head.address()}, .answer_bytes_max = 99}).ValueOrDie();
  EXPECT_EQ(client->Get("/", Soon()).status().code(), StatusCode::kFull);
}

TEST(HeadClient, KnowsAddresses) {
  EXPECT_EQ(ClientOf({"h:1"})->current(), "http://h:1");
  EXPECT_EQ(ClientOf({"http://h:1/"})->current(), "http://h:1");
  EXPECT_EQ(ClientOf({"https://h:1"})->current(), "https://h:1");
  for (const char* bad : {"", "a b:1", "ftp://h:1", "http://", "http://http://h"}) {
    EXPECT_EQ(HeadClient::Make({.heads = {bad}}).status().code(), StatusCode::kInvalid)
        << bad;
  }
  EXPECT_EQ(HeadClient::Make({}).status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::cluster
