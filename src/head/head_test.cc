#include "head/head.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "head/head_server.h"
#include "support/subprocess.h"

namespace forebay::head {
namespace {

namespace fs = std::filesystem;

bool Soon(const std::function<bool()>& condition) {
  Deadline deadline = Deadline::After(milliseconds(20'000));
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

class HeadTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(state_); }
  Head::Options Options() const {
    return {.meta = "sqlite:" + state_ + "/meta.db", .state = state_, .address = "h:1"};
  }
  std::unique_ptr<Head> Start() { return Head::Start(Options()).ValueOrDie(); }

  testing_support::TempFolder folder_;
  std::string state_ = folder_.path() + "/state";
};

TEST_F(HeadTest, LeadsAtOnceWithAStoreOfItsOwn) {
  auto head = Start();
  ASSERT_NE(head->reign(), nullptr);
  EXPECT_EQ(head->leader(), "h:1");
  EXPECT_EQ(head->reign()->members->term(), 1U);
}

TEST_F(HeadTest, HasALargerTermEachTime) {
  Start();
  EXPECT_EQ(Start()->reign()->members->term(), 2U);
}

TEST_F(HeadTest, HasItsStateAlone) {
  auto head = Start();
  EXPECT_EQ(Head::Start(Options()).status().code(), StatusCode::kUnavailable);
  head.reset();
  EXPECT_TRUE(Head::Start(Options()).ok());
}

TEST_F(HeadTest, GoesOnAboveTheTermThatItsNodesKnow) {
  for (int i = 0; i < 3; ++i) Start();
  uint64_t seen = Start()->reign()->members->roster()->epoch();
  EXPECT_EQ(seen >> 32, 4U);
  fs::remove_all(state_);
  fs::create_directories(state_);
  auto head = Start();
  auto& members = *head->reign()->members;
  EXPECT_EQ(members.term(), 1U);
  (void)members.RosterAfter(seen);  // a process that watches
  EXPECT_TRUE(Soon([&] { return members.roster()->epoch() > seen; }));
  head.reset();
  EXPECT_EQ(Start()->reign()->members->term(), 6U);
}

TEST_F(HeadTest, RemembersNodesAndOperations) {
  {
    auto head = Start();
    auto reign = head->reign();
    ASSERT_TRUE(reign->members->Register({.id = "a", .instance = "1"}).ok());
  }
  auto head = Start();
  EXPECT_NE(head->reign()->members->roster()->Find("a"), nullptr);
}

TEST_F(HeadTest, ForgetsNodesThatAreGone) {
  Head::Options options = Options();
  options.timeout = milliseconds(100);
  options.place_kept = milliseconds(200);
  auto head = Head::Start(options).ValueOrDie();
  ASSERT_TRUE(head->reign()->members->Register({.id = "a", .instance = "1"}).ok());
  auto store = meta::OpenMetaStore(options.meta).ValueOrDie();
  ASSERT_TRUE(store->Get("members/a").ok());
  EXPECT_TRUE(Soon(
      [&] { return store->Get("members/a").status().code() == StatusCode::kNotFound; }));
}

TEST_F(HeadTest, RefusesTimesThatMakeNoSense) {
  Head::Options options = Options();
  options.timeout = milliseconds(99);
  EXPECT_EQ(Head::Start(options).status().code(), StatusCode::kInvalid);
  options.timeout = milliseconds(100);
  options.place_kept = milliseconds(99);
  EXPECT_EQ(Head::Start(options).status().code(), StatusCode::kInvalid);
  options.place_kept = milliseconds(100);
  EXPECT_TRUE(Head::Start(options).ok());
}

TEST_F(HeadTest, ListensForThisMachineUnlessToldThatEverybodyMay) {
  HeadServer::Options options{.listen = "0.0.0.0:0", .head = {.state = state_}};
  Status refused = HeadServer::Start(options).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_NE(refused.message().find("--insecure"), std::string::npos);
  for (const char* listen : {":0", "[::]:0", "192.0.2.1:0", "example.invalid:0"}) {
    options.listen = listen;
    EXPECT_NE(HeadServer::Start(options).status().message().find("--insecure"),
              std::string::npos)
        << listen;
  }
  options.listen = "0.0.0.0:0";
  options.insecure = true;
  EXPECT_TRUE(HeadServer::Start(options).ok());
  options.insecure = false;
  for (const char* listen : {"127.0.0.1:0", "localhost:0"}) {
    options.listen = listen;
    EXPECT_TRUE(HeadServer::Start(options).ok()) << listen;
  }
  EXPECT_EQ(HeadServer::Options{}.listen, "127.0.0.1:7070");
}

}  // namespace
}  // namespace forebay::head
