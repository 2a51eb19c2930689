#include "http/request_parser.h"

#include <gtest/gtest.h>

namespace forebay::http {
namespace {

constexpr char kPost[] =
    "POST /v1/a%20b?x=1&y=%2F HTTP/1.1\r\nHost: h\r\nContent-length:  5 \r\n\r\nhello";

TEST(RequestParser, TakesARequestApart) {
  RequestParser parser({});
  parser.Append(kPost);
  auto request = parser.Next();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->path, "/v1/a b");
  EXPECT_EQ(request->target, "/v1/a%20b?x=1&y=%2F");
  EXPECT_EQ(request->query.at("y"), "/");
  EXPECT_EQ(request->Find("HOST"), "h");
  EXPECT_EQ(request->body, "hello");
  EXPECT_TRUE(request->keep_alive);
  EXPECT_TRUE(parser.empty());
}

TEST(RequestParser, TakesRequestsInPiecesAndSeveralAtOnce) {
  std::string two = std::string(kPost) + "GET / HTTP/1.0\r\n\r\n";
  for (size_t cut = 0; cut <= two.size(); ++cut) {
    RequestParser parser({});
    std::vector<std::string> seen;
    for (std::string piece : {two.substr(0, cut), two.substr(cut)}) {
      parser.Append(piece);
      while (auto request = parser.Next()) seen.push_back(request->method);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"POST", "GET"})) << cut;
  }
}

TEST(RequestParser, KnowsWhoWantsToStay) {
  for (auto [text, stays] :
       {std::pair("GET / HTTP/1.1\r\n\r\n", true),
        std::pair("GET / HTTP/1.0\r\n\r\n", false),
        std::pair("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false),
        std::pair("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", true),
        std::pair("GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", true),
        std::pair("GET / HTTP/1.1\r\nConnection: TE , close\r\n\r\n", false)}) {
    RequestParser parser({});
    parser.Append(text);
    EXPECT_EQ(parser.Next()->keep_alive, stays) << text;
  }
}

TEST(RequestParser, RefusesWhatIsNoRequest) {
  for (auto [text, error] :
       {std::pair("hello\r\n\r\n", 400), std::pair("GET x HTTP/1.1\r\n\r\n", 400),
        std::pair("GET / HTTP/2\r\n\r\n", 400), std::pair("\r\n\r\n", 400),
        std::pair("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        std::pair("POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        std::pair("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        std::pair("POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413)}) {
    RequestParser parser({});
    parser.Append(text);
    EXPECT_FALSE(parser.Next().has_value());
    EXPECT_EQ(parser.error(), error) << text;
  }
}

int ErrorOf(const std::string& text) {
  RequestParser parser({});
  parser.Append(text);
  auto request = parser.Next();
  EXPECT_EQ(request.has_value(), parser.error() == 0) << text;
  return parser.error();
}

TEST(RequestParser, RefusesHeadersThatAProxyMayReadInAnotherWay) {
  const std::string kLine = "POST / HTTP/1.1\r\n";
  for (const char* headers :
       {"Content-Length : 5", " Content-Length: 5", "Content-Length: 5\r\n folded: x",
        "no colon", ": 5", "X: a\nb", "X: a\rb", "X: a\x01", "Con tent: 5",
        "Content-Length:", "Content-Length: 0\r\nContent-Length: 5",
        "Content-Length: 0, 0", "Content-Length: +0", "Content-Length: 0x0"}) {
    EXPECT_EQ(ErrorOf(kLine + headers + "\r\n\r\nhello"), 400) << headers;
  }
  for (const char* headers :
       {"Transfer-Encoding:\r\nTransfer-Encoding: chunked",
        "transfer-encoding:", "Content-Length: 0\r\nTransfer-Encoding: identity"}) {
    EXPECT_EQ(ErrorOf(kLine + headers + "\r\n\r\n"), 411) << headers;
  }
  for (const char* headers :
       {"Content-Length: 0\r\ncontent-length: 0", "X:", "X: a\tb", "X-_.~!: \xc3\xa4"}) {
    EXPECT_EQ(ErrorOf(kLine + headers + "\r\n\r\n"), 0) << headers;
  }
  EXPECT_EQ(ErrorOf("GET /a\nX:b HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf("get / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(ErrorOf(" / HTTP/1.1\r\n\r\n"), 400);
}

TEST(RequestParser, BoundsTheHeadAndTheBody) {
  const std::string kStart = "GET / HTTP/1.1\r\nX: ";
  for (auto [extra, error] : {std::pair(0, 0), std::pair(1, 431)}) {
    for (bool ended : {true, false}) {
      RequestParser parser({.head_bytes = 100});
      size_t room = 100 - kStart.size() + static_cast<size_t>(extra);
      parser.Append(kStart + std::string(room, 'x') + (ended ? "\r\n\r\n" : ""));
      EXPECT_EQ(parser.Next().has_value(), ended && error == 0);
      EXPECT_EQ(parser.error(), error) << extra << ended;
    }
  }
  for (auto [length, error] : {std::pair("5", 0), std::pair("6", 413)}) {
    RequestParser parser({.body_bytes = 5});
    parser.Append("POST / HTTP/1.1\r\nContent-Length: " + std::string(length) +
                  "\r\n\r\nhello");
    EXPECT_EQ(parser.Next().has_value(), error == 0);
    EXPECT_EQ(parser.error(), error) << length;
  }
}

TEST(RequestParser, FindsTheEndOfAHeadThatComesByteByByte) {
  RequestParser parser({});
  std::string two = std::string(kPost) + kPost;
  std::vector<std::string> bodies;
  for (char c : two) {
    parser.Append({&c, 1});
    while (auto request = parser.Next()) bodies.push_back(request->body);
  }
  EXPECT_EQ(bodies, (std::vector<std::string>{"hello", "hello"}));
}

TEST(RequestParser, LetsTheClientSendItsBodyOnce) {
  RequestParser parser({});
  parser.Append("POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_FALSE(parser.Next().has_value());
  EXPECT_TRUE(parser.TakeExpectsContinue());
  EXPECT_FALSE(parser.TakeExpectsContinue());
  parser.Append("ok");
  EXPECT_EQ(parser.Next()->body, "ok");
}

}  // namespace
}  // namespace forebay::http
