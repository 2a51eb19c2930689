#include "source/range_reader.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/size.h"
#include "source/faulty_source.h"
#include "source/memory_source.h"

namespace forebay::source {
namespace {

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

struct RangeReader : testing::Test {
  // Reads [offset, size) pairs and checks every byte.
  Status ReadAll(const std::vector<std::pair<int64_t, size_t>>& wanted) {
    std::vector<std::string> buffers;
    for (auto [offset, size] : wanted) buffers.emplace_back(size, '\0');
    std::vector<Range> ranges;
    for (size_t i = 0; i < wanted.size(); ++i) {
      ranges.push_back({wanted[i].first, std::as_writable_bytes(std::span(buffers[i]))});
    }
    Status status = ReadRanges(source, object, ranges, pool, Deadline::Never());
    for (size_t i = 0; status.ok() && i < wanted.size(); ++i) {
      EXPECT_EQ(buffers[i], bytes.substr(wanted[i].first, wanted[i].second)) << i;
    }
    return status;
  }

  inline static const std::string bytes = RandomBytes(24 * kMiB, 1);
  MemorySource source;
  model::Object object = source.Put("mem://a/b", bytes);
  ThreadPool pool{4};
};

TEST_F(RangeReader, SplitsALargeRangeIntoParallelRequests) {
  ASSERT_EQ(ReadAll({{0, bytes.size()}}), Status::OK());
  EXPECT_EQ(source.stats().requests, 3u);
  EXPECT_EQ(source.stats().bytes, bytes.size());
}

TEST_F(RangeReader, JoinsSmallNeighboursIntoOneRequest) {
  ASSERT_EQ(ReadAll({{300'000, 100'000}, {100'000, 100'000}, {200'000, 100'000}}),
            Status::OK());
  EXPECT_EQ(source.stats().requests, 1u);
}

TEST_F(RangeReader, DoesNotReadBigHolesToSaveRequests) {
  std::vector<std::pair<int64_t, size_t>> wanted;
  size_t asked = 0;
  for (int64_t at = 0; at < 20 * int64_t(kMiB); at += 600'000) {
    wanted.emplace_back(at, 100'000);
    asked += 100'000;
  }
  ASSERT_EQ(ReadAll(wanted), Status::OK());
  EXPECT_LE(source.stats().bytes, asked + asked / 8);
}

TEST_F(RangeReader, ReadsAnySetOfRangesRight) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<std::pair<int64_t, size_t>> wanted;
    for (int i = 0; i < 40; ++i) {
      size_t size = random() % (i % 5 == 0 ? 3 * kMiB : 60'000);
      wanted.emplace_back(random() % (bytes.size() - size + 1), size);
    }
    ASSERT_EQ(ReadAll(wanted), Status::OK());
  }
}

TEST_F(RangeReader, RefusesARangePastTheEnd) {
  EXPECT_EQ(ReadAll({{int64_t(bytes.size()) - 1, 2}}).code(), StatusCode::kInvalid);
  EXPECT_EQ(ReadAll({{-1, 2}}).code(), StatusCode::kInvalid);
}

TEST_F(RangeReader, ReportsAChangeInTheMiddle) {
  source.Put("mem://a/b", "other");
  EXPECT_EQ(ReadAll({{0, bytes.size()}}).code(), StatusCode::kChanged);
}

TEST_F(RangeReader, ReportsTheFaultOfAnyPart) {
  auto inner = std::make_shared<MemorySource>();
  model::Object copy = inner->Put("mem://a/b", bytes);
  FaultySource wrapped(inner);
  wrapped.Add({.call = Call::kRead, .skip = 1, .status = Status::Unavailable("gone")});
  std::string buffer(bytes.size(), '\0');
  Range range{0, std::as_writable_bytes(std::span(buffer))};
  EXPECT_EQ(ReadRanges(wrapped, copy, {&range, 1}, pool, Deadline::Never()).code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(wrapped.fired(), 1);
}

}  // namespace
}  // namespace forebay::source
