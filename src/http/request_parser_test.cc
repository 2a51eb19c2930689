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
        std::pair("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false)}) {
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

TEST(RequestParser, BoundsTheHead) {
  RequestParser parser({.head_bytes = 100});
  parser.Append("GET / HTTP/1.1\r\nX: " + std::string(100, 'x'));
  EXPECT_FALSE(parser.Next().has_value());
  EXPECT_EQ(parser.error(), 431);
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
