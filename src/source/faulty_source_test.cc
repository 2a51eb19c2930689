#include "source/faulty_source.h"

#include <gtest/gtest.h>

#include <string>

#include "source/memory_source.h"

namespace forebay::source {
namespace {

struct Faulty : testing::Test {
  Result<std::string> Read() {
    std::string bytes(5, '\0');
    FB_RETURN_NOT_OK(source.Read(object, 0, std::as_writable_bytes(std::span(bytes)),
                                 Deadline::Never()));
    return bytes;
  }

  std::shared_ptr<MemorySource> memory = std::make_shared<MemorySource>();
  model::Object object = memory->Put("memory://a/b", "hello");
  FaultySource source{memory};
};

TEST_F(Faulty, FailsTheCallsOfItsPlanAndNoOthers) {
  source.Add({.call = Call::kRead,
              .skip = 1,
              .times = 2,
              .status = Status::Unavailable("planned")});
  EXPECT_TRUE(Read().ok());
  EXPECT_EQ(Read().status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(source.Stat("memory://a/b", Deadline::Never()).ok());
  EXPECT_EQ(Read().status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(Read().ok());
  EXPECT_EQ(source.fired(), 2);
}

TEST_F(Faulty, MeetsOnlyTheUrisItNames) {
  source.Add({.uri_contains = "other", .status = Status::Unavailable("planned")});
  EXPECT_TRUE(Read().ok());
  EXPECT_EQ(source.fired(), 0);
}

TEST_F(Faulty, RunsWhatShallHappenBeforeTheCall) {
  source.Add({.before = [this] { memory->Put("memory://a/b", "other"); }});
  EXPECT_EQ(Read().status().code(), StatusCode::kChanged);
}

TEST_F(Faulty, FlipsABitOfWhatIsRead) {
  source.Add({.flip_a_bit = true});
  EXPECT_NE(Read().ValueOrDie(), "hello");
  EXPECT_EQ(Read().ValueOrDie(), "hello");
}

}  // namespace
}  // namespace forebay::source
