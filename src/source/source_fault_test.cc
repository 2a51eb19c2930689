// Every fault at every stage, through a proxy in front of real servers: the right bytes
// or a named error, in time, and the fault must have fired.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "source/source.h"
#include "support/source_place.h"

namespace forebay::source {
namespace {

using testing_support::MakePlace;
using testing_support::PlaceKind;
using testing_support::PlaceName;
using testing_support::TestPlace;
using ProxyFault = testing_support::FaultProxy::Fault;

constexpr std::chrono::seconds kLimit{20};
constexpr size_t kSize = 200'000;

std::string RandomBytes(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(kSize, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

class Faults : public testing::TestWithParam<PlaceKind> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<TestPlace>> place = MakePlace(GetParam());
    if (!place.ok() && place.status().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << "NOT TESTED: " << place.status().message();
    }
    ASSERT_TRUE(place.ok()) << place.status();
    place_ = *std::move(place);
    place_->Put("folder/object", bytes_);
    Result<model::Object> object = source().Stat(Uri(), Deadline::After(kLimit));
    ASSERT_TRUE(object.ok()) << object.status();
    object_ = *object;
    place_->proxy()->Clear();
  }

  Source& source() { return place_->source(); }
  std::string Uri() { return place_->Uri("folder/object"); }

  Status ReadAll() {
    std::string read(kSize, '\0');
    auto into = std::as_writable_bytes(std::span(read));
    FB_RETURN_NOT_OK(source().Read(object_, 0, into, Deadline::After(kLimit)));
    return read == bytes_ ? Status::OK() : Status::Corrupt("WRONG BYTES were delivered");
  }
  Status StatObject() {
    Result<model::Object> object = source().Stat(Uri(), Deadline::After(kLimit));
    if (!object.ok()) return object.status();
    return object->identity == object_.identity ? Status::OK()
                                                : Status::Corrupt("another identity");
  }
  Status ListFolder() {
    std::string uri = place_->lists() ? place_->Uri("folder") : Uri();
    Result<std::vector<model::Object>> objects =
        source().List(uri, Deadline::After(kLimit));
    if (!objects.ok()) return objects.status();
    bool right = objects->size() == 1 && objects->front().uri == object_.uri &&
                 objects->front().identity == object_.identity;
    return right ? Status::OK() : Status::Corrupt("another list");
  }
  Status Run(const std::string& stage) {
    if (stage == "list") return ListFolder();
    return stage == "stat" ? StatObject() : ReadAll();
  }

  std::string bytes_ = RandomBytes(7);
  std::unique_ptr<TestPlace> place_;
  model::Object object_;
};

std::vector<ProxyFault> PassingFaults(bool lists) {
  std::vector<ProxyFault> faults;
  std::vector<std::string> stages = {"stat", "read"};
  if (lists) stages.push_back("list");
  for (const std::string& stage : stages) {
    for (const char* kind : {"status500", "status503", "garbage"}) {
      faults.push_back({.stage = stage, .kind = kind});
    }
    faults.push_back({.stage = stage, .kind = "reset", .at = "first"});
    if (stage != "stat")
      faults.push_back({.stage = stage, .kind = "short", .at = "middle"});
  }
  // These wait by their nature, so one stage must do.
  faults.push_back({.stage = "stat", .kind = "status429"});
  faults.push_back({.stage = lists ? "list" : "read", .kind = "slow-start"});
  for (const char* kind : {"reset", "short", "stall"}) {
    for (const char* at : {"first", "middle", "last"}) {
      faults.push_back({.stage = "read", .kind = kind, .at = at});
    }
  }
  if (lists) faults.push_back({.stage = "list", .kind = "stall", .at = "middle"});
  return faults;
}

TEST_P(Faults, PassAndTheBytesAreRight) {
  for (const ProxyFault& fault : PassingFaults(place_->lists())) {
    SCOPED_TRACE(fault.stage + " " + fault.kind + " " + fault.at);
    place_->proxy()->Clear();
    place_->proxy()->Add(fault);
    uint64_t retries = source().stats().retries;
    auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(Run(fault.stage), Status::OK());
    EXPECT_EQ(place_->proxy()->fired(), 1) << "the fault did not fire";
    // curl itself opens a new connection when a kept one is reset before any answer.
    if (fault.kind != "slow-start" && fault.kind != "reset") {
      EXPECT_GT(source().stats().retries, retries);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, kLimit);
  }
}

TEST_P(Faults, GoesOnFromTheByteWhereItBroke) {
  place_->proxy()->Add({.stage = "read", .kind = "short", .at = "middle", .times = 3});
  uint64_t before = source().stats().bytes;
  EXPECT_EQ(ReadAll(), Status::OK());
  EXPECT_EQ(place_->proxy()->fired(), 3);
  // Starting over each time would have read 2.5 times the object.
  EXPECT_LT(source().stats().bytes - before, kSize + kSize / 4);
}

TEST_P(Faults, NeverUsesTheBytesOfAnotherRange) {
  if (GetParam() == PlaceKind::kHdfsProxied) return;  // its answers name no range
  for (const char* kind : {"wrong-range", "extra"}) {
    SCOPED_TRACE(kind);
    place_->proxy()->Clear();
    place_->proxy()->Add({.stage = "read", .kind = kind, .times = 2});
    EXPECT_EQ(ReadAll(), Status::OK());
    EXPECT_EQ(place_->proxy()->fired(), 2);
  }
}

TEST_P(Faults, ReadsFromAServerThatIgnoresTheRange) {
  if (GetParam() != PlaceKind::kHttpProxied) return;  // others sign it, or need it
  place_->proxy()->Add({.stage = "read", .kind = "ignore-range"});
  std::string read(1000, '\0');
  auto into = std::as_writable_bytes(std::span(read));
  EXPECT_EQ(source().Read(object_, 5000, into, Deadline::After(kLimit)), Status::OK());
  EXPECT_EQ(place_->proxy()->fired(), 1);
  EXPECT_TRUE(read == bytes_.substr(5000, 1000));
}

TEST_P(Faults, AnObjectOverwrittenDuringTheReadIsNamed) {
  for (const char* at : {"first", "middle", "last"}) {
    SCOPED_TRACE(at);
    place_->Put("folder/object", bytes_);
    Result<model::Object> object = source().Stat(Uri(), Deadline::After(kLimit));
    ASSERT_TRUE(object.ok()) << object.status();
    object_ = *object;
    place_->proxy()->Clear();
    place_->proxy()->Add({.stage = "read",
                          .kind = "reset",
                          .at = at,
                          .run = place_->PutCommand("folder/object", RandomBytes(8))});
    Status status = ReadAll();
    EXPECT_EQ(status.code(), StatusCode::kChanged) << status;
    EXPECT_NE(status.message().find("source changed"), std::string::npos);
    EXPECT_EQ(place_->proxy()->fired(), 1);
  }
}

TEST_P(Faults, ThatDoNotPassEndWithANamedErrorInTime) {
  for (const char* kind : {"status500", "status503", "reset"}) {
    SCOPED_TRACE(kind);
    place_->proxy()->Clear();
    place_->proxy()->Add({.stage = "read", .kind = kind, .at = "first", .times = 1000});
    Status status = ReadAll();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
    EXPECT_GE(place_->proxy()->fired(), 2);
  }
}

TEST_P(Faults, AStallEndsByTheDeadline) {
  place_->proxy()->Add({.stage = "read", .kind = "stall", .at = "first", .times = 1000});
  std::string read(kSize, '\0');
  auto into = std::as_writable_bytes(std::span(read));
  auto start = std::chrono::steady_clock::now();
  Status status = source().Read(object_, 0, into, Deadline::After(milliseconds(1500)));
  EXPECT_EQ(status.code(), StatusCode::kDeadline) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
  EXPECT_GE(place_->proxy()->fired(), 1);
}

TEST_P(Faults, ForbiddenIsNotTriedAgain) {
  for (const char* stage : {"stat", "read"}) {
    SCOPED_TRACE(stage);
    place_->proxy()->Clear();
    place_->proxy()->Add({.stage = stage, .kind = "status403", .times = 1000});
    EXPECT_EQ(Run(stage).code(), StatusCode::kPermission);
    EXPECT_EQ(place_->proxy()->fired(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, Faults,
                         testing::Values(PlaceKind::kHttpProxied, PlaceKind::kS3Proxied,
                                         PlaceKind::kHdfsProxied),
                         [](const auto& info) { return PlaceName(info.param); });

}  // namespace
}  // namespace forebay::source
