#include "base/start_thread.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/no_threads.h"

namespace forebay {
namespace {

TEST(StartThread, RunsItsBody) {
  int ran = 0;
  auto thread = StartThread([&ran] { ++ran; });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->join();
  EXPECT_EQ(ran, 1);
}

TEST(StartThread, AtTheLimitOfThreadsSaysSoAndLetsGoOfTheBody) {
  auto held = std::make_shared<int>(1);
  {
    testing_support::NoThreads limit;
    auto thread = StartThread([held] { ++*held; });
    ASSERT_FALSE(thread.ok());
    EXPECT_EQ(thread.status().code(), StatusCode::kFull);
    EXPECT_NE(thread.status().message().find("ulimit -u"), std::string::npos);
  }
  EXPECT_EQ(*held, 1) << "the body ran";
  EXPECT_EQ(held.use_count(), 1);
  auto thread = StartThread([held] { ++*held; });
  ASSERT_TRUE(thread.ok()) << "the limit outlives its scope";
  thread->join();
  EXPECT_EQ(*held, 2);
}

TEST(CheckThreadRoom, IsFullAtTheLimitOfThreads) {
  EXPECT_TRUE(CheckThreadRoom(0).ok());
  EXPECT_TRUE(CheckThreadRoom(8).ok());
  testing_support::NoThreads limit;
  EXPECT_TRUE(CheckThreadRoom(0).ok());
  EXPECT_EQ(CheckThreadRoom(1).code(), StatusCode::kFull);
}

}  // namespace
}  // namespace forebay
