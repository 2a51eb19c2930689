#include "source/range_body.h"

#include <gtest/gtest.h>

namespace forebay::source {
namespace {

constexpr int64_t kSize = 100;

// One ranged read of an object of 100 bytes, and what came of it.
class RangeBodyTest : public ::testing::Test {
 protected:
  RangeBodyTest() {
    object_.uri = "http://h/x";
    object_.identity.size = kSize;
  }

  RangeRead Read() {
    return {.object = object_,
            .slice = {10, 20},
            .sink = sink_,
            .prepare = {},
            .explain =
                [](const http::Response& response, std::string_view body) {
                  return Status::NotFound(std::to_string(response.status) + " " +
                                          std::string(body));
                },
            .check_head = [this](const http::Response&) { return head_verdict_; },
            .ok_means_partial = ok_means_partial_};
  }

  static http::Response Head(int status, std::vector<http::Header> headers) {
    return {.status = status, .headers = std::move(headers)};
  }
  static http::Response Partial(const std::string& range) {
    return Head(206, {{"Content-Range", "bytes " + range}});
  }

  // The whole exchange: the answer's head, its body in pieces of `step` bytes.
  Status Answer(const http::Response& head, std::string_view text, size_t step = 7) {
    RangeRead read = Read();
    RangeBody body(read, {10, 20, 0});
    taken_.clear();
    Result<http::Response> sent = head;
    for (size_t at = 0; at < text.size() && sent.ok(); at += step) {
      auto piece = std::as_bytes(std::span(text.substr(at, step)));
      Status took = body.Take(head, piece);
      if (!took.ok()) sent = took;
    }
    Status status = body.Finish(sent);
    kept_ = body.kept_bytes();
    received_ = body.received_bytes();
    return status;
  }

  model::Object object_;
  Status head_verdict_;
  bool ok_means_partial_ = false;
  std::map<int64_t, char> taken_;  // by offset in the slice
  Sink sink_ = [this](int64_t at, std::span<const std::byte> piece) {
    for (std::byte b : piece) taken_[at++] = static_cast<char>(b);
    return Status::OK();
  };
  int64_t kept_ = 0;
  uint64_t received_ = 0;
};

const std::string kWhole(kSize, 'w');
const std::string kRange(20, 'r');

TEST_F(RangeBodyTest, TakesExactlyTheRange) {
  EXPECT_EQ(Answer(Partial("10-29/100"), kRange), Status::OK());
  EXPECT_EQ(taken_.size(), 20);
  EXPECT_EQ(taken_.begin()->first, 0);
  EXPECT_EQ(kept_, 20);
  EXPECT_EQ(received_, 20);
  EXPECT_EQ(Answer(Partial("10-29/*"), kRange), Status::OK());
}

TEST_F(RangeBodyTest, RefusesARangeThatIsOneByteOff) {
  for (const char* range :
       {"10-30/100", "9-29/100", "11-29/100", "11-30/100", "0-99/100", "9-28/100"}) {
    EXPECT_EQ(Answer(Partial(range), kRange + "x").code(), StatusCode::kUnavailable)
        << range;
    EXPECT_TRUE(taken_.empty()) << range;
    EXPECT_EQ(kept_, 0) << range;
  }
}

TEST_F(RangeBodyTest, RefusesABodyThatIsOneByteLonger) {
  // The head is right; no byte beyond the range may reach the caller's memory.
  EXPECT_EQ(Answer(Partial("10-29/100"), kRange + "x", 21).code(),
            StatusCode::kUnavailable);
  EXPECT_LE(taken_.size(), 20);
  EXPECT_EQ(kept_, 0);
  EXPECT_EQ(Answer(Partial("10-29/100"), kRange + "x", 1).code(),
            StatusCode::kUnavailable);
  EXPECT_LE(taken_.size(), 20);
  EXPECT_EQ(kept_, 0);
}

TEST_F(RangeBodyTest, KeepsWhatCameOfAShorterAnswer) {
  EXPECT_EQ(Answer(Partial("10-28/100"), std::string(19, 'r')).code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(kept_, 19);
  EXPECT_EQ(Answer(Partial("10-29/100"), std::string(19, 'r')).code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(kept_, 19);
  EXPECT_EQ(Answer(Partial("10-29/100"), "").code(), StatusCode::kUnavailable);
  EXPECT_EQ(kept_, 0);
}

TEST_F(RangeBodyTest, RefusesALengthThatIsNotTheRanges) {
  for (const char* length : {"19", "21", "100"}) {
    auto head =
        Head(206, {{"Content-Range", "bytes 10-29/100"}, {"Content-Length", length}});
    EXPECT_EQ(Answer(head, kRange).code(), StatusCode::kUnavailable) << length;
    EXPECT_TRUE(taken_.empty());
  }
  auto right =
      Head(206, {{"Content-Range", "bytes 10-29/100"}, {"Content-Length", "20"}});
  EXPECT_EQ(Answer(right, kRange), Status::OK());
}

TEST_F(RangeBodyTest, NoticesAnObjectOfAnotherSize) {
  for (const char* range : {"10-29/99", "10-29/101"}) {
    EXPECT_EQ(Answer(Partial(range), kRange).code(), StatusCode::kChanged) << range;
    EXPECT_TRUE(taken_.empty());
  }
  auto whole = Head(200, {{"Content-Length", "101"}});
  EXPECT_EQ(Answer(whole, kWhole + "x").code(), StatusCode::kChanged);
  EXPECT_TRUE(taken_.empty());
}

TEST_F(RangeBodyTest, RefusesAPartialAnswerWithoutARange) {
  EXPECT_EQ(Answer(Head(206, {}), kRange).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Answer(Partial("10-29"), kRange).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Answer(Head(204, {}), "").code(), StatusCode::kUnavailable);
  EXPECT_TRUE(taken_.empty());
}

TEST_F(RangeBodyTest, FindsTheRangeInAWholeObject) {
  std::string text = kWhole;
  for (size_t i = 10; i < 30; ++i) text[i] = 'r';
  for (size_t step : {1, 7, 10, 29, 30, 100}) {
    EXPECT_EQ(Answer(Head(200, {{"Content-Length", "100"}}), text, step), Status::OK())
        << step;
    EXPECT_EQ(taken_.size(), 20);
    for (auto [at, c] : taken_) EXPECT_EQ(c, 'r') << at;
    EXPECT_EQ(Answer(Head(200, {}), text, step), Status::OK()) << step;
  }
  EXPECT_EQ(Answer(Head(200, {}), text.substr(0, 29)).code(), StatusCode::kUnavailable);
}

TEST_F(RangeBodyTest, ReadsNoLargeObjectForItsEnd) {
  object_.identity.size = int64_t{1} << 40;
  RangeRead read = Read();
  constexpr int64_t kSkipMax = 64 << 20;
  auto piece = std::as_bytes(std::span(kWhole));
  http::Response head = Head(200, {});
  EXPECT_TRUE(RangeBody(read, {kSkipMax, 20, 0}).Take(head, piece).ok());
  EXPECT_EQ(RangeBody(read, {kSkipMax + 1, 20, 0}).Take(head, piece).code(),
            StatusCode::kUnsupported);
}

TEST_F(RangeBodyTest, TakesAPlainAnswerForTheRangeWhereTheProtocolSaysSo) {
  ok_means_partial_ = true;
  EXPECT_EQ(Answer(Head(200, {{"Content-Length", "20"}}), kRange), Status::OK());
  EXPECT_EQ(taken_.begin()->first, 0);
  EXPECT_EQ(Answer(Head(200, {}), kRange), Status::OK());
  EXPECT_EQ(Answer(Head(200, {{"Content-Length", "21"}}), kRange + "x").code(),
            StatusCode::kUnavailable);
  EXPECT_TRUE(taken_.empty());
  EXPECT_EQ(Answer(Head(200, {}), kRange + "x").code(), StatusCode::kUnavailable);
  EXPECT_EQ(kept_, 0);
}

TEST_F(RangeBodyTest, AsksWhetherItIsTheSameObjectBeforeAnyByte) {
  head_verdict_ = Status::Changed("another one");
  EXPECT_EQ(Answer(Partial("10-29/100"), kRange).code(), StatusCode::kChanged);
  EXPECT_EQ(Answer(Head(200, {}), kWhole).code(), StatusCode::kChanged);
  EXPECT_TRUE(taken_.empty());
  EXPECT_EQ(kept_, 0);
}

TEST_F(RangeBodyTest, ExplainsAFailureByTheStartOfItsBody) {
  EXPECT_EQ(Answer(Head(404, {}), "gone"), Status::NotFound("404 gone"));
  EXPECT_EQ(Answer(Head(304, {}), ""), Status::NotFound("304 "));
  EXPECT_TRUE(taken_.empty());
  Status longer = Answer(Head(404, {}), std::string(200'000, 'e'), 1000);
  EXPECT_EQ(longer.message().size(), 4 + (64 << 10));
}

}  // namespace
}  // namespace forebay::source
