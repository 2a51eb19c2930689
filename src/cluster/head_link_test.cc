#include "cluster/head_link.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "cluster/membership.h"
#include "meta/memory_store.h"

namespace forebay::cluster {
namespace {

template <typename T>
Result<std::string> AsAnswer(const Result<T>& result) {
  if (!result.ok()) return result.status();
  return ToJson(*result);
}

// A head without HTTP, which can be cut off and replaced.
struct TestHead {
  FakeClock clock;
  meta::MemoryStore store{&clock};
  std::mutex mutex;
  std::unique_ptr<Membership> members;
  uint64_t term = 0;
  milliseconds timeout{40};  // T is short, so that the link's real pauses are
  std::atomic<bool> reachable{true};
  std::atomic<int> beats{0};
  std::atomic<int> goodbyes{0};

  TestHead() { Restart(); }
  void Restart() {
    std::lock_guard lock(mutex);
    members = Membership::Load(
                  {.store = &store, .term = ++term, .timeout = timeout, .clock = &clock})
                  .ValueOrDie();
  }
  Result<std::string> Answer(const std::string& path, const std::string& json) {
    std::lock_guard lock(mutex);
    if (!reachable) return Status::Unavailable("cut off");
    ++beats;
    if (path == kRegisterPath) {
      return AsAnswer(members->Register(ParseRegistration(json).ValueOrDie()));
    }
    if (path == kHeartbeatPath) {
      auto answer = members->Beat(ParseHeartbeat(json).ValueOrDie());
      if (answer.ok()) answer->orders = R"({"do":1})";
      return AsAnswer(answer);
    }
    if (path == kLeavePath) {
      ++goodbyes;
      FB_RETURN_NOT_OK(members->Leave(ParseHeartbeat(json).ValueOrDie()));
      return std::string("{}");
    }
    return ToJson(HeartbeatAnswer{.roster = members->roster()});
  }
};

class DirectCaller : public HeadCaller {
 public:
  explicit DirectCaller(TestHead* head) : head_(head) {}
  Result<std::string> Get(const std::string& path, Deadline) override {
    return head_->Answer(path, "");
  }
  Result<std::string> Post(const std::string& path, const std::string& json,
                           Deadline) override {
    return head_->Answer(path, json);
  }

 private:
  TestHead* head_;
};

bool Soon(const std::function<bool()>& condition) {
  Deadline deadline = Deadline::After(milliseconds(10'000));
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

class HeadLinkTest : public ::testing::Test {
 protected:
  std::unique_ptr<HeadLink> Join(std::optional<std::string> id) {
    HeadLink::Options options;
    if (id.has_value()) {
      options.self = Registration{.id = *id, .host = "h", .flight = "h:1", .weight = 1};
    }
    options.report = [] { return std::string(R"({"hello":1})"); };
    options.on_orders = [this](const std::string&) { ++orders_; };
    options.clock = &head_.clock;
    options.caller = std::make_unique<DirectCaller>(&head_);
    return HeadLink::Start(std::move(options)).ValueOrDie();
  }
  // Once the link has been through a whole beat after this call.
  void LetBeat() {
    int before = head_.beats;
    ASSERT_TRUE(Soon([&] { return head_.beats >= before + 2; }));
  }

  TestHead head_;
  std::atomic<int> orders_{0};
};

TEST_F(HeadLinkTest, JoinsReportsAndTakesOrders) {
  auto link = Join("a");
  ASSERT_TRUE(Soon([&] { return link->MayOwn(); }));
  EXPECT_EQ(link->roster()->members().size(), 1U);
  EXPECT_TRUE(Soon([&] { return orders_ > 0; }));
  EXPECT_EQ(head_.members->nodes()[0].report, R"({"hello":1})");
  EXPECT_TRUE(link->WaitForRoster(Deadline::After(milliseconds(0))).ok());
}

TEST_F(HeadLinkTest, HearsOfOrdersSoonAfterJoiningHoweverLongTIs) {
  head_.timeout = std::chrono::hours(1);
  head_.Restart();
  auto link = Join("a");
  EXPECT_TRUE(Soon([&] { return orders_ > 1; }));
}

TEST_F(HeadLinkTest, StopsOwningAfterHalfOfTWithoutAnAnswer) {
  auto link = Join("a");
  ASSERT_TRUE(Soon([&] { return link->MayOwn(); }));
  head_.reachable = false;
  std::this_thread::sleep_for(milliseconds(20));  // a beat under way ends
  head_.clock.Advance(milliseconds(19));
  EXPECT_TRUE(link->MayOwn());
  head_.clock.Advance(milliseconds(1));
  EXPECT_FALSE(link->MayOwn());
  EXPECT_EQ(link->roster()->members().size(), 1U) << "the roster stands";
  head_.reachable = true;
  EXPECT_TRUE(Soon([&] { return link->MayOwn(); }));
}

TEST_F(HeadLinkTest, StopsOwningBeforeTheHeadTakesItForDown) {
  auto link = Join("a");
  ASSERT_TRUE(Soon([&] { return link->MayOwn(); }));
  head_.reachable = false;
  for (int i = 0; i < 40; ++i) {
    head_.clock.Advance(milliseconds(1));
    bool may_own = link->MayOwn();
    bool is_up = head_.members->roster()->Find("a")->state == MemberState::kUp;
    EXPECT_TRUE(is_up || !may_own) << "after " << i << " ms";
  }
  EXPECT_EQ(head_.members->roster()->Find("a")->state, MemberState::kDown);
}

TEST_F(HeadLinkTest, RegistersAgainWithTheNextHead) {
  auto link = Join("a");
  ASSERT_TRUE(Soon([&] { return link->MayOwn(); }));
  uint64_t fence = link->fence();
  head_.Restart();
  ASSERT_TRUE(Soon([&] { return link->fence() > fence; }));
  EXPECT_TRUE(Soon([&] { return link->MayOwn(); }));
}

TEST_F(HeadLinkTest, WaitsForAHeadThatIsNotThereYet) {
  head_.reachable = false;
  auto link = Join("a");
  EXPECT_EQ(link->WaitForRoster(Deadline::After(milliseconds(5))).code(),
            StatusCode::kUnavailable);
  EXPECT_FALSE(link->MayOwn());
  head_.reachable = true;
  EXPECT_TRUE(link->WaitForRoster(Deadline::After(milliseconds(10'000))).ok());
}

TEST_F(HeadLinkTest, StandsBackForANewerProcessUntilThatIsDown) {
  auto older = Join("a");
  ASSERT_TRUE(Soon([&] { return older->MayOwn(); }));
  auto newer = Join("a");
  ASSERT_TRUE(Soon([&] { return newer->MayOwn(); }));
  ASSERT_TRUE(Soon([&] { return !older->MayOwn(); }));
  LetBeat();
  EXPECT_TRUE(newer->MayOwn()) << "the older one did not take the id back";
  newer.reset();
  EXPECT_TRUE(Soon([&] { return older->MayOwn(); }));
}

TEST_F(HeadLinkTest, StopsOwningWhenDrained) {
  auto link = Join("a");
  ASSERT_TRUE(Soon([&] { return link->MayOwn(); }));
  ASSERT_TRUE(head_.members->Drain("a").ok());
  EXPECT_TRUE(Soon([&] { return !link->MayOwn(); }));
  EXPECT_EQ(link->roster()->Find("a")->state, MemberState::kDraining);
}

TEST_F(HeadLinkTest, SaysGoodbye) {
  Join("a").reset();
  auto link = Join("b");
  ASSERT_TRUE(Soon([&] { return link->MayOwn(); }));
  link.reset();
  EXPECT_GE(head_.goodbyes, 1);
  EXPECT_EQ(head_.members->roster()->Find("b")->state, MemberState::kDown);
}

TEST_F(HeadLinkTest, WatchesWithoutBeingAMember) {
  auto watcher = Join(std::nullopt);
  auto link = Join("a");
  ASSERT_TRUE(Soon([&] { return watcher->roster()->Find("a") != nullptr; }));
  EXPECT_FALSE(watcher->MayOwn());
  EXPECT_EQ(head_.members->roster()->members().size(), 1U);
  watcher.reset();
  EXPECT_EQ(head_.goodbyes, 0);
}

}  // namespace
}  // namespace forebay::cluster
