#include "http/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <stdexcept>

#include "base/unique_fd.h"
#include "http/client.h"
#include "http/plain_call.h"

namespace forebay::http {
namespace {

Reply Echo(const Received& request) {
  if (request.path == "/moved") {
    return {.status = 307, .headers = {{"Location", "/echo"}}};
  }
  if (request.path == "/large") {
    auto owner = std::make_shared<std::string>(size_t{20} << 20, 'x');
    return {.view = *owner, .owner = owner};
  }
  if (request.path == "/throws") throw std::runtime_error("a bug");
  return {.body = request.method + " " + request.path + " " + request.body};
}

struct ServerTest : testing::Test {
  void Start(ServerOptions options) {
    server = Server::Start(options, Echo).ValueOrDie();
  }
  Result<std::string> Send(Request request, const std::string& target) {
    request.url = "http://127.0.0.1:" + std::to_string(server->port()) + target;
    request.follow_redirects = true;
    std::string body;
    auto sink = [&](const Response&, std::span<const std::byte> piece) {
      body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      return Status::OK();
    };
    auto response = client.Send(request, sink, Deadline::After(milliseconds(10'000)));
    if (!response.ok()) return response.status();
    return body;
  }
  UniqueFd Connect() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
    return fd;
  }
  // Until the server closes.
  static std::string ReadAll(int fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }
  static void Write(int fd, std::string_view text) {
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  std::unique_ptr<Server> server;
  Client client{{}};
};

TEST_F(ServerTest, AnswersAndKeepsTheConnection) {
  Start({});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Send({}, "/a").ValueOrDie(), "GET /a ");
    EXPECT_EQ(Send({.method = "POST", .body = "b"}, "/a").ValueOrDie(), "POST /a b");
    EXPECT_EQ(Send({.method = "DELETE"}, "/a").ValueOrDie(), "DELETE /a ");
  }
  EXPECT_EQ(server->connection_count(), 1U);
}

TEST_F(ServerTest, SendsAPostOnWithItsBody) {
  Start({});
  EXPECT_EQ(Send({.method = "POST", .body = "b"}, "/moved").ValueOrDie(), "POST /echo b");
}

TEST_F(ServerTest, AnswersPlainCalls) {
  Start({});
  Deadline deadline = Deadline::After(milliseconds(10'000));
  PlainRequest request{.method = "POST",
                       .address = "127.0.0.1:" + std::to_string(server->port()),
                       .target = "/a%20b",
                       .body = std::string(3 << 20, 'y')};
  auto answer = CallPlain(request, deadline).ValueOrDie();
  EXPECT_EQ(answer.head.status, 200);
  EXPECT_EQ(answer.body, "POST /a b " + request.body);
  request.target = "/moved";
  answer = CallPlain(request, deadline).ValueOrDie();
  EXPECT_EQ(answer.head.status, 307);
  EXPECT_EQ(answer.head.Find("location"), "/echo");
  request.address = "no such host:80";
  EXPECT_EQ(CallPlain(request, deadline).status().code(), StatusCode::kInvalid);
  request.address = "127.0.0.1:1";
  EXPECT_EQ(CallPlain(request, deadline).status().code(), StatusCode::kUnavailable);
}

TEST_F(ServerTest, AnswersPlainCallsOverIpv6) {
  Start({.host = "::1"});
  Deadline deadline = Deadline::After(milliseconds(10'000));
  PlainRequest request{.address = "[::1]:" + std::to_string(server->port()),
                       .target = "/a"};
  auto answer = CallPlain(request, deadline);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "GET /a ");
  // Whether anybody listens at port 80 is all the same: the address is one.
  request.address = "[::1]";
  EXPECT_NE(CallPlain(request, deadline).status().code(), StatusCode::kInvalid);
  for (const char* bad : {"::1", "[::1", "[::1]7070", "[::1]:x", "http://[::1]:80"}) {
    request.address = bad;
    EXPECT_EQ(CallPlain(request, deadline).status().code(), StatusCode::kInvalid) << bad;
  }
}

TEST_F(ServerTest, RefusesAPlainAnswerThatIsLongerThanItMayBe) {
  Start({});
  Deadline deadline = Deadline::After(milliseconds(10'000));
  PlainRequest request{.method = "POST",
                       .address = "127.0.0.1:" + std::to_string(server->port()),
                       .target = "/echo",
                       .body = std::string(1 << 20, 'y')};
  request.answer_bytes_max = 1 << 20;
  EXPECT_TRUE(CallPlain(request, deadline).ok()) << "a head comes with it";
  request.answer_bytes_max = 1 << 10;
  EXPECT_EQ(CallPlain(request, deadline).status().code(), StatusCode::kFull);
}

TEST_F(ServerTest, MovesLargeBodiesBothWays) {
  Start({});
  std::string large(3 << 20, 'y');
  EXPECT_EQ(Send({.method = "POST", .body = large}, "/").ValueOrDie(), "POST / " + large);
  EXPECT_EQ(Send({}, "/large").ValueOrDie(), std::string(20 << 20, 'x'));
}

TEST_F(ServerTest, AnswersWhileHundredsOfConnectionsAreHalfOpen) {
  Start({.workers = 2});
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 600; ++i) {
    idle.push_back(Connect());
    if (i % 2 == 0) Write(idle.back().get(), "POST / HTTP/1.1\r\nContent-Length: 9\r\n");
  }
  EXPECT_EQ(Send({}, "/a").ValueOrDie(), "GET /a ");
  EXPECT_GE(server->connection_count(), 600U);
}

TEST_F(ServerTest, TurnsAwayMoreConnectionsThanItMayHave) {
  Start({.connections_max = 4});
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 4; ++i) idle.push_back(Connect());
  while (server->connection_count() < 4) std::this_thread::yield();
  EXPECT_EQ(ReadAll(Connect().get()), "");
  EXPECT_EQ(server->connection_count(), 4U);
}

TEST_F(ServerTest, LetsGoOfRequestsThatDoNotArrive) {
  Start({.read_timeout = milliseconds(50)});
  UniqueFd slow = Connect();
  Write(slow.get(), "GET / HT");
  EXPECT_EQ(ReadAll(slow.get()), "");
  EXPECT_EQ(Send({}, "/a").ValueOrDie(), "GET /a ");
}

TEST_F(ServerTest, RefusesWhatIsTooLargeOrNoHttp) {
  Start({.limits = {.body_bytes = 10}});
  UniqueFd large = Connect();
  Write(large.get(), "POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n");
  EXPECT_TRUE(ReadAll(large.get()).starts_with("HTTP/1.1 413 "));
  UniqueFd rude = Connect();
  Write(rude.get(), "\x16\x03\x01 hello\r\n\r\n");
  EXPECT_TRUE(ReadAll(rude.get()).starts_with("HTTP/1.1 400 "));
}

TEST_F(ServerTest, OutlivesAnAnswerThatThrows) {
  Start({.workers = 1});
  Deadline deadline = Deadline::After(milliseconds(10'000));
  PlainRequest request{.address = "127.0.0.1:" + std::to_string(server->port()),
                       .target = "/throws"};
  EXPECT_EQ(CallPlain(request, deadline).ValueOrDie().head.status, 500);
  EXPECT_EQ(Send({}, "/a").ValueOrDie(), "GET /a ");
}

TEST_F(ServerTest, SaysSoWhenThereAreNoDescriptorsLeft) {
  // One for the socket that listens, none for what waits for it.
  UniqueFd last(::open("/dev/null", O_RDONLY));
  ASSERT_TRUE(last.valid());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(last.get()) + 1;
  last.Reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  auto server = Server::Start({}, Echo);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(server.status().code(), StatusCode::kFull);
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  Start({});
  UniqueFd fd = Connect();
  Write(fd.get(),
        "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.0\r\n\r\n");
  std::string text = ReadAll(fd.get());
  size_t first = text.find("GET /1");
  size_t second = text.find("GET /2");
  size_t third = text.find("GET /3");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, text.npos);
}

TEST_F(ServerTest, SaysSoWhenItsPortIsTaken) {
  Start({});
  auto second = Server::Start({.port = server->port()}, Echo);
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Server::Start({.host = "no such host"}, Echo).status().code(),
            StatusCode::kInvalid);
}

TEST_F(ServerTest, AnswersWhatHasArrivedBeforeItEnds) {
  std::atomic<bool> asked{false};
  auto slow = Server::Start({}, [&](const Received&) {
                asked = true;
                std::this_thread::sleep_for(milliseconds(50));
                return Reply{.body = "late"};
              }).ValueOrDie();
  std::string url = "http://127.0.0.1:" + std::to_string(slow->port());
  std::thread caller([&] {
    std::string body;
    auto response = client.Send(
        {.url = url},
        [&](const Response&, std::span<const std::byte> piece) {
          body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
          return Status::OK();
        },
        Deadline::After(milliseconds(10'000)));
    EXPECT_EQ(body, "late");
  });
  while (!asked) std::this_thread::yield();
  slow.reset();
  caller.join();
}

}  // namespace
}  // namespace forebay::http
