#include "http/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "http/curl_status.h"
#include "http/percent.h"
#include "support/servers.h"

namespace forebay::http {
namespace {

using testing_support::FaultProxy;
using testing_support::FreePort;
using testing_support::HttpServer;
using testing_support::WriteFile;

struct ClientTest : testing::Test {
  Result<Response> Get(const std::string& url, std::string* body,
                       Deadline deadline = Deadline::After(milliseconds(20'000))) {
    Request request;
    request.url = url;
    return client.Send(
        request,
        [body](const Response&, std::span<const std::byte> piece) {
          body->append(reinterpret_cast<const char*>(piece.data()), piece.size());
          return Status::OK();
        },
        deadline);
  }

  std::unique_ptr<HttpServer> server = HttpServer::Start().ValueOrDie();
  Client client{{}};
};

TEST_F(ClientTest, StreamsABodyAndGivesTheHead) {
  WriteFile(server->folder() + "/x", "hello");
  std::string body;
  Result<Response> response = Get(server->url() + "/x", &body);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(body, "hello");
  EXPECT_EQ(response->Find("content-LENGTH"), "5");
  EXPECT_EQ(response->ContentLength(), 5);
  EXPECT_EQ(response->Find("No-Such"), "");
}

TEST_F(ClientTest, GivesAnyStatusAsAResponse) {
  std::string body;
  Result<Response> response = Get(server->url() + "/missing", &body);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 404);
}

TEST_F(ClientTest, PostsABodyAndForgetsIt) {
  auto scripted = testing_support::ScriptedServer::Start().ValueOrDie();
  scripted->Script(R"([{"request": "POST /form", "form": {"a": "x y", "b": "1"},
                        "headers": {"Content-Type": "text/form", "Content-Length": "11"},
                        "text": "taken"},
                       {"request": "GET /form", "text": "got"}])");
  Request request{.method = "POST", .url = scripted->url() + "/form"};
  request.headers = {{"Content-Type", "text/form"}};
  request.body = "a=x%20y&b=1";
  std::string body;
  auto sink = [&body](const Response&, std::span<const std::byte> piece) {
    body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status::OK();
  };
  ASSERT_TRUE(client.Send(request, sink, Deadline::After(milliseconds(20'000))).ok());
  EXPECT_EQ(body, "taken");
  body.clear();
  ASSERT_TRUE(Get(request.url, &body).ok());
  EXPECT_EQ(body, "got");
  EXPECT_EQ(scripted->log(), "POST /form a=x%20y&b=1\nGET /form \n");
}

TEST_F(ClientTest, SaysThatNobodyListens) {
  std::string body;
  std::string url = "http://127.0.0.1:" + std::to_string(FreePort()) + "/?key=SECRET";
  Status status = Get(url, &body).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message().find("SECRET"), std::string::npos) << status;
}

TEST_F(ClientTest, StopsWhenTheSinkSaysSo) {
  WriteFile(server->folder() + "/x", "hello");
  Request request;
  request.url = server->url() + "/x";
  Result<Response> response = client.Send(
      request, [](const Response&, auto) { return Status::Full("enough"); },
      Deadline::Never());
  EXPECT_EQ(response.status(), Status::Full("enough"));
}

TEST_F(ClientTest, EndsByItsDeadline) {
  WriteFile(server->folder() + "/x", "hello");
  auto proxy = FaultProxy::Start(server->port()).ValueOrDie();
  proxy->Add({.stage = "read", .kind = "stall", .at = "middle"});
  std::string body;
  auto start = std::chrono::steady_clock::now();
  Result<Response> response =
      Get(proxy->url() + "/x", &body, Deadline::After(milliseconds(400)));
  EXPECT_EQ(response.status().code(), StatusCode::kDeadline) << response.status();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  EXPECT_EQ(proxy->fired(), 1);
}

TEST_F(ClientTest, EndsWhenAStopIsRequested) {
  WriteFile(server->folder() + "/x", "hello");
  auto proxy = FaultProxy::Start(server->port()).ValueOrDie();
  proxy->Add({.stage = "read", .kind = "stall", .at = "middle"});
  std::stop_source stop;
  TimePoint requested{};
  Deadline deadline = Deadline::After(milliseconds(20'000)).StoppedBy(stop.get_token());
  auto stop_at_first_byte = [&](const Response&, std::span<const std::byte>) {
    requested = std::chrono::steady_clock::now();
    stop.request_stop();
    return Status::OK();
  };
  Request request{.url = proxy->url() + "/x"};
  Status status = client.Send(request, stop_at_first_byte, deadline).status();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - requested, milliseconds(500));
  EXPECT_EQ(client.Send(request, stop_at_first_byte, deadline).status().code(),
            StatusCode::kCancelled);
  EXPECT_EQ(proxy->fired(), 1);
}

TEST_F(ClientTest, EndsAWaitForTheFirstByteWhenAStopIsRequested) {
  WriteFile(server->folder() + "/x", "hello");
  auto proxy = FaultProxy::Start(server->port()).ValueOrDie();
  proxy->Add({.stage = "read", .kind = "stall", .at = "first"});
  std::stop_source stop;
  TimePoint requested{};
  std::thread stopping([&] {
    while (proxy->fired() == 0) std::this_thread::yield();
    requested = std::chrono::steady_clock::now();
    stop.request_stop();
  });
  std::string body;
  Status status =
      Get(proxy->url() + "/x", &body, Deadline::Never().StoppedBy(stop.get_token()))
          .status();
  stopping.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - requested, milliseconds(500));
}

TEST_F(ClientTest, ServesManyThreads) {
  WriteFile(server->folder() + "/x", std::string(100'000, 'x'));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        std::string body;
        if (Get(server->url() + "/x", &body).ok() && body.size() == 100'000) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

TEST(CurlStatus, MapsWhatACallerActsOn) {
  EXPECT_EQ(FromCurl(CURLE_OK, ""), Status::OK());
  EXPECT_EQ(FromCurl(CURLE_COULDNT_CONNECT, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(FromCurl(CURLE_RECV_ERROR, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(FromCurl(CURLE_PARTIAL_FILE, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(FromCurl(CURLE_GOT_NOTHING, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(FromCurl(CURLE_UNSUPPORTED_PROTOCOL, "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(FromCurl(CURLE_URL_MALFORMAT, "").code(), StatusCode::kInvalid);
  EXPECT_EQ(FromCurl(CURLE_PEER_FAILED_VERIFICATION, "").code(), StatusCode::kInvalid);
  EXPECT_EQ(FromCurl(CURLE_OUT_OF_MEMORY, "").code(), StatusCode::kFull);
}

TEST(Percent, EncodesAndDecodes) {
  EXPECT_EQ(PercentEncode("a b/ü+~"), "a%20b%2F%C3%BC%2B~");
  EXPECT_EQ(PercentEncodePath("/a b/c"), "/a%20b/c");
  EXPECT_EQ(PercentDecode("a%20b%2fc%"), "a b/c%");
  EXPECT_EQ(PercentDecode("%zz%4"), "%zz%4");
  EXPECT_EQ(PercentDecode("%4z%z4"), "%4z%z4");
  EXPECT_EQ(PercentDecode("%41"), "A");
}

TEST(Message, ParsesDatesAndNumbers) {
  EXPECT_EQ(ParseDate("Wed, 21 Oct 2015 07:28:00 GMT"), 1445412480);
  EXPECT_FALSE(ParseDate("yesterday").has_value());
  EXPECT_EQ(ParseNumber("17"), 17);
  for (const char* bad : {"", "-1", "1x", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(ParseNumber(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace forebay::http
