// What every source promises, run on every source that can run here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "source/source.h"
#include "support/source_place.h"

namespace forebay::source {
namespace {

using std::chrono::seconds;

Deadline Soon() { return Deadline::After(seconds(30)); }

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

using testing_support::kPlaceKinds;
using testing_support::MakePlace;
using testing_support::PlaceKind;
using testing_support::PlaceName;
using testing_support::TestPlace;

class Conformance : public testing::TestWithParam<PlaceKind> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<TestPlace>> place = MakePlace(GetParam());
    if (!place.ok() && place.status().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << "NOT TESTED: " << place.status().message();
    }
    ASSERT_TRUE(place.ok()) << place.status();
    place_ = *std::move(place);
  }

  Source& source() { return place_->source(); }
  std::string Uri(const std::string& name) { return place_->Uri(name); }
  model::Object PutAndStat(const std::string& name, std::string_view bytes) {
    place_->Put(name, bytes);
    Result<model::Object> object = source().Stat(Uri(name), Soon());
    EXPECT_TRUE(object.ok()) << object.status();
    return object.ok() ? *object : model::Object{};
  }
  Result<std::string> Read(const model::Object& object, int64_t offset, size_t size,
                           Deadline deadline = Soon()) {
    std::string bytes(size, '\0');
    FB_RETURN_NOT_OK(source().Read(object, offset,
                                   std::as_writable_bytes(std::span(bytes)), deadline));
    return bytes;
  }
  std::vector<std::string> ListUris(const std::string& name) {
    Result<std::vector<model::Object>> objects = source().List(Uri(name), Soon());
    EXPECT_TRUE(objects.ok()) << objects.status();
    std::vector<std::string> uris;
    if (!objects.ok()) return uris;
    for (const model::Object& object : *objects) uris.push_back(object.uri);
    return uris;
  }

  std::unique_ptr<TestPlace> place_;
};

TEST_P(Conformance, TellsAnObjectsSizeAndAStableIdentity) {
  model::Object first = PutAndStat("a/object", "hello");
  EXPECT_EQ(first.uri, Uri("a/object"));
  EXPECT_EQ(first.identity.size, 5);
  Result<model::Object> second = source().Stat(Uri("a/object"), Soon());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->identity, first.identity);
}

TEST_P(Conformance, ReadsAnyRange) {
  std::string bytes = RandomBytes(300'000, 1);
  model::Object object = PutAndStat("ranges", bytes);
  std::mt19937_64 random(2);
  std::vector<std::pair<size_t, size_t>> ranges = {
      {0, bytes.size()}, {0, 1}, {bytes.size() - 1, 1}, {0, 0}, {bytes.size(), 0}};
  for (int i = 0; i < 20; ++i) {
    size_t offset = random() % bytes.size();
    ranges.emplace_back(offset, random() % (bytes.size() - offset));
  }
  for (auto [offset, size] : ranges) {
    Result<std::string> read = Read(object, static_cast<int64_t>(offset), size);
    ASSERT_TRUE(read.ok()) << read.status() << " offset=" << offset << " size=" << size;
    ASSERT_TRUE(*read == bytes.substr(offset, size)) << offset << " " << size;
  }
}

TEST_P(Conformance, StreamsASliceInOrder) {
  if (!source().streams()) return;
  std::string bytes = RandomBytes(3'000'000, 4);
  model::Object object = PutAndStat("stream", bytes);
  std::string taken;
  auto take = [&](int64_t at, std::span<const std::byte> piece) {
    EXPECT_EQ(at, static_cast<int64_t>(taken.size()));
    taken.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status::OK();
  };
  ASSERT_EQ(source().Stream(object, {1000, 2'500'000}, take, Soon()), Status::OK());
  EXPECT_TRUE(taken == bytes.substr(1000, 2'500'000));
  auto refuse = [](int64_t, auto) { return Status::Full("no room"); };
  EXPECT_EQ(source().Stream(object, {0, 1000}, refuse, Soon()).code(), StatusCode::kFull);
  EXPECT_EQ(source().Stream(object, {1, 3'000'000}, take, Soon()).code(),
            StatusCode::kInvalid);
}

TEST_P(Conformance, ReadsAnEmptyObject) {
  model::Object object = PutAndStat("empty", "");
  EXPECT_EQ(object.identity.size, 0);
  Result<std::string> read = Read(object, 0, 0);
  EXPECT_TRUE(read.ok()) << read.status();
}

TEST_P(Conformance, RefusesAReadPastTheEnd) {
  model::Object object = PutAndStat("short", "hello");
  EXPECT_EQ(Read(object, 0, 6).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(Read(object, 6, 0).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(Read(object, -1, 1).status().code(), StatusCode::kInvalid);
}

TEST_P(Conformance, ServesManyThreadsAtOnce) {
  std::string bytes = RandomBytes(400'000, 3);
  model::Object object = PutAndStat("threads", bytes);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        size_t offset = (t * 10 + i) * 9000;
        Result<std::string> read = Read(object, static_cast<int64_t>(offset), 20'000);
        if (read.ok() && *read == bytes.substr(offset, 20'000)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

TEST_P(Conformance, SaysThatAMissingObjectIsNotThere) {
  place_->Put("there", "x");
  EXPECT_EQ(source().Stat(Uri("missing"), Soon()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(source().List(Uri("missing"), Soon()).status().code(), StatusCode::kNotFound);
}

TEST_P(Conformance, ListsASingleObject) {
  model::Object object = PutAndStat("single", "hello");
  Result<std::vector<model::Object>> objects = source().List(Uri("single"), Soon());
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 1u);
  EXPECT_EQ(objects->front().uri, object.uri);
  EXPECT_EQ(objects->front().identity, object.identity);
}

TEST_P(Conformance, ListsWhatIsBelowAFolderAndNothingElse) {
  if (!place_->lists()) return;
  std::vector<std::string> names = {"dir/b",      "dir/a/z",          "dir/.hidden",
                                    "dir/_meta",  "dir/a space+plus", "dir/100%25",
                                    "dir/ünï&<x>"};
  for (const std::string& name : names) place_->Put(name, name);
  place_->Put("dir-other/c", "c");
  place_->Put("dirt", "d");
  std::vector<std::string> expected;
  for (const std::string& name : names) expected.push_back(Uri(name));
  std::ranges::sort(expected);
  EXPECT_EQ(ListUris("dir"), expected);
  EXPECT_EQ(ListUris("dir/"), expected);
}

TEST_P(Conformance, ListedObjectsCanBeReadAsTheyAre) {
  if (!place_->lists()) return;
  std::vector<std::string> names = {"all/plain", "all/a space+plus", "all/100%25",
                                    "all/ünï&<x>", "all/sub/q?x=1#y"};
  for (const std::string& name : names) place_->Put(name, "bytes of " + name);
  Result<std::vector<model::Object>> objects = source().List(Uri("all"), Soon());
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), names.size());
  for (const model::Object& object : *objects) {
    Result<std::string> read = Read(object, 0, static_cast<size_t>(object.identity.size));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Uri(read->substr(std::string("bytes of ").size())), object.uri);
  }
}

TEST_P(Conformance, SaysThatAFolderIsNoObject) {
  if (!place_->lists()) return;
  place_->Put("folder/x", "x");
  EXPECT_EQ(source().Stat(Uri("folder"), Soon()).status().code(), StatusCode::kNotFound);
}

TEST_P(Conformance, CallsAnOverwrittenObjectChanged) {
  model::Object object = PutAndStat("over", "first bytes");
  place_->Put("over", "other bytes");
  Status status = Read(object, 0, 11).status();
  EXPECT_EQ(status.code(), StatusCode::kChanged) << status;
  EXPECT_NE(status.message().find("source changed"), std::string::npos) << status;
  EXPECT_EQ(Read(object, 3, 0).status().code(), StatusCode::kChanged);
}

TEST_P(Conformance, CallsAGrownOrShrunkObjectChanged) {
  model::Object object = PutAndStat("grow", "0123456789");
  place_->Put("grow", "0123456789abc");
  EXPECT_EQ(Read(object, 2, 4).status().code(), StatusCode::kChanged);
  model::Object longer = PutAndStat("grow", "0123456789abc");
  place_->Put("grow", "01");
  EXPECT_EQ(Read(longer, 8, 4).status().code(), StatusCode::kChanged);
}

TEST_P(Conformance, GivesNoBytesOfARemovedObject) {
  model::Object object = PutAndStat("gone", "hello");
  place_->Remove("gone");
  EXPECT_EQ(Read(object, 0, 5).status().code(), StatusCode::kNotFound);
}

TEST_P(Conformance, EndsByItsDeadline) {
  model::Object object = PutAndStat("late", "hello");
  Deadline passed = Deadline::After(milliseconds(0));
  EXPECT_EQ(Read(object, 0, 5, passed).status().code(), StatusCode::kDeadline);
}

TEST_P(Conformance, CountsRequestsAndBytes) {
  model::Object object = PutAndStat("count", RandomBytes(10'000, 4));
  uint64_t requests = source().stats().requests;
  uint64_t bytes = source().stats().bytes;
  ASSERT_TRUE(Read(object, 0, 10'000).ok());
  EXPECT_GT(source().stats().requests, requests);
  EXPECT_GE(source().stats().bytes, bytes + 10'000);
}

INSTANTIATE_TEST_SUITE_P(Sources, Conformance, testing::ValuesIn(kPlaceKinds),
                         [](const auto& info) { return PlaceName(info.param); });

}  // namespace
}  // namespace forebay::source
