#include "http/answer_parser.h"

#include <gtest/gtest.h>

namespace forebay::http {
namespace {

// "status body", or the code of the failure.
std::string Parsed(std::string_view bytes) {
  auto answer = ParseAnswer(bytes, "h:1");
  if (!answer.ok()) return std::string(StatusCodeName(answer.status().code()));
  return std::to_string(answer->head.status) + " " + answer->body;
}

const std::string kCut(StatusCodeName(StatusCode::kUnavailable));
const std::string kCorrupt(StatusCodeName(StatusCode::kCorrupt));

TEST(AnswerParser, TakesAnAnswerApart) {
  auto answer =
      ParseAnswer("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nX:  y \r\n\r\nno", "h")
          .ValueOrDie();
  EXPECT_EQ(answer.head.status, 404);
  EXPECT_EQ(answer.head.Find("x"), "y");
  EXPECT_EQ(answer.body, "no");
  EXPECT_EQ(Parsed("HTTP/1.1 200\r\n\r\nbody"), "200 body");
  EXPECT_EQ(Parsed("HTTP/1.0 200 OK\r\n\r\n"), "200 ");
}

TEST(AnswerParser, NoticesABodyOfAnotherLength) {
  const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Length: ";
  EXPECT_EQ(Parsed(kHead + "4 \r\n\r\nbody"), "200 body");
  for (const char* length : {"3", "5", "-1", "x", "4x"}) {
    EXPECT_EQ(Parsed(kHead + length + "\r\n\r\nbody"), kCut) << length;
  }
}

TEST(AnswerParser, JoinsChunks) {
  const std::string kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Parsed(kHead + "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n"),
            "200 abc0123456789");
  EXPECT_EQ(Parsed(kHead + "0\r\n\r\n"), "200 ");
  for (const char* bad : {"", "3", "3\r\nabc", "3\r\nabcd\r\n0\r\n\r\n", "x\r\n\r\n",
                          "3\r\nab\r\n0\r\n\r\n", "3\r\nabc\r\n", "-1\r\n\r\n", "\r\n",
                          "ffffffffffffffff\r\nabc\r\n0\r\n\r\n",
                          "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"}) {
    EXPECT_EQ(Parsed(kHead + bad), kCut) << bad;
  }
  EXPECT_EQ(Parsed("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx"),
            StatusCodeName(StatusCode::kUnsupported));
}

TEST(AnswerParser, SkipsWhatComesBeforeTheAnswer) {
  EXPECT_EQ(Parsed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx"), "200 x");
  EXPECT_EQ(Parsed("HTTP/1.1 100 Continue\r\n\r\n"), kCorrupt);
}

TEST(AnswerParser, RefusesWhatIsNoAnswer) {
  for (const char* bad :
       {"", "hello", "HTTP/1.1 200 OK\r\n", "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 -12 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"}) {
    EXPECT_EQ(Parsed(bad), kCorrupt) << bad;
  }
}

}  // namespace
}  // namespace forebay::http
