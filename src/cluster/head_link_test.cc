#include "cluster/head_link.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
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
  std::unique_ptr<meta::MemoryStore> store = std::make_unique<meta::MemoryStore>(&clock);
  std::mutex mutex;
  std::unique_ptr<Membership> members;
  uint64_t term = 0;
  milliseconds timeout{40};  // T is short, so that the link's real pauses are
  std::atomic<bool> reachable{true};
  std::atomic<int> beats{0};
  std::atomic<int> unanswered{0};
  std::atomic<int> goodbyes{0};

  TestHead() { Restart(); }
  void Restart() {
    std::lock_guard lock(mutex);
    Load();
  }
  // As if its state directory had been deleted: the next head begins at term 1.
  void Wipe() {
    std::lock_guard lock(mutex);
    members.reset();
    store = std::make_unique<meta::MemoryStore>(&clock);
    term = 0;
    Load();
  }
  void Load() {
    members =
        Membership::Load(
            {.store = store.get(), .term = ++term, .timeout = timeout, .clock = &clock})
            .ValueOrDie();
  }
  Result<std::string> Answer(const std::string& path, const std::string& json) {
    std::lock_guard lock(mutex);
    if (!reachable) {
      ++unanswered;
      return Status::Unavailable("cut off");
    }
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
    FB_CHECK(path.starts_with("/v1/roster?after="));
    FB_RETURN_NOT_OK(members->CatchUp());
    uint64_t epoch = std::stoull(path.substr(path.find('=') + 1));
    return ToJson(HeartbeatAnswer{.roster = members->RosterAfter(epoch)});
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

  // No answer is on its way any more once the link has been refused.
  void CutOff() {
    head_.reachable = false;
    int before = head_.unanswered;
    ASSERT_TRUE(Soon([&] { return head_.unanswered > before; }));
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
  CutOff();
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
  CutOff();
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

TEST_F(HeadLinkTest, WorksOnUnderAHeadWhoseStateWasWiped) {
  for (int i = 0; i < 4; ++i) head_.Restart();
  auto link = Join("a");
  auto watcher = Join(std::nullopt);
  ASSERT_TRUE(Soon([&] { return link->MayOwn() && watcher->roster()->epoch() > 0; }));
  uint64_t fence = link->fence();
  uint64_t epoch = watcher->roster()->epoch();
  EXPECT_EQ(epoch >> 32, 5U);
  head_.Wipe();
  ASSERT_TRUE(Soon([&] { return link->fence() > fence; })) << "ignored for ever";
  EXPECT_TRUE(Soon([&] { return link->MayOwn(); }));
  EXPECT_TRUE(Soon([&] { return watcher->roster()->epoch() > epoch; }));
  EXPECT_TRUE(Soon([&] { return watcher->roster()->Find("a") != nullptr; }));
}

TEST_F(HeadLinkTest, LetsOneWhoOnlyWatchesFindAWipedHead) {
  for (int i = 0; i < 4; ++i) head_.Restart();
  auto watcher = Join(std::nullopt);
  ASSERT_TRUE(Soon([&] { return watcher->roster()->epoch() > 0; }));
  uint64_t epoch = watcher->roster()->epoch();
  head_.Wipe();
  EXPECT_TRUE(Soon([&] { return watcher->roster()->epoch() > epoch; }));
}

TEST_F(HeadLinkTest, SaysNoGoodbyeInTheNameOfANewerProcess) {
  auto older = Join("a");
  ASSERT_TRUE(Soon([&] { return older->MayOwn(); }));
  auto newer = Join("a");
  ASSERT_TRUE(Soon([&] { return newer->MayOwn() && !older->MayOwn(); }));
  LetBeat();
  older.reset();
  EXPECT_EQ(head_.goodbyes, 0);
  EXPECT_TRUE(newer->MayOwn());
}

// A head that answers what a test says.
class ScriptedCaller : public HeadCaller {
 public:
  using Script = std::function<Result<std::string>(const std::string& path)>;
  explicit ScriptedCaller(Script script) : script_(std::move(script)) {}
  Result<std::string> Get(const std::string& path, Deadline) override {
    return script_(path);
  }
  Result<std::string> Post(const std::string& path, const std::string&,
                           Deadline) override {
    return script_(path);
  }

 private:
  Script script_;
};

std::shared_ptr<const Roster> RosterOf(uint64_t epoch, uint64_t fence, MemberState state,
                                       int timeout_ms = 40) {
  return Roster::Make({.epoch = epoch,
                       .timeout = milliseconds(timeout_ms),
                       .members = {{.id = "a", .state = state, .fence = fence}}})
      .ValueOrDie();
}

struct ScriptedLink {
  ScriptedLink(const Clock* clock, ScriptedCaller::Script script) {
    HeadLink::Options options;
    options.self = Registration{.id = "a", .instance = "i", .host = "h", .flight = "h:1"};
    options.clock = clock;
    options.on_roster = [this](const Roster&) { ++rosters; };
    options.caller = std::make_unique<ScriptedCaller>(std::move(script));
    link = HeadLink::Start(std::move(options)).ValueOrDie();
  }
  std::atomic<int> rosters{0};
  std::unique_ptr<HeadLink> link;
};

TEST(HeadLink, CountsFromWhenItAskedNotFromTheAnswer) {
  FakeClock clock;
  std::atomic<int> calls{0};
  ScriptedLink scripted(&clock, [&](const std::string& path) -> Result<std::string> {
    ++calls;
    if (path != kRegisterPath) return Status::Unavailable("cut off");
    clock.Advance(milliseconds(15));  // the answer takes its time
    return ToJson(Registered{.fence = 7, .roster = RosterOf(9, 7, MemberState::kUp)});
  });
  ASSERT_TRUE(Soon([&] { return calls > 1; }));
  clock.Advance(milliseconds(4));
  EXPECT_TRUE(scripted.link->MayOwn());
  clock.Advance(milliseconds(1));
  EXPECT_FALSE(scripted.link->MayOwn()) << "half of T after the question";
}

TEST(HeadLink, KeepsTheNewerRosterWhenAnOlderOneComesLate) {
  FakeClock clock;
  std::atomic<int> beats{0};
  ScriptedLink scripted(&clock, [&](const std::string& path) -> Result<std::string> {
    if (path == kRegisterPath) {
      return ToJson(Registered{.fence = 7, .roster = RosterOf(9, 7, MemberState::kUp)});
    }
    ++beats;
    uint64_t epoch = beats == 1 ? 8 : 9;
    return ToJson(HeartbeatAnswer{.roster = RosterOf(epoch, 7, MemberState::kDraining)});
  });
  ASSERT_TRUE(Soon([&] { return beats > 3; }));
  EXPECT_EQ(scripted.link->roster()->Find("a")->state, MemberState::kUp);
  EXPECT_EQ(scripted.rosters, 1) << "only newer ones are told of";
}

TEST(HeadLink, OwnsNothingUnlessTheRosterHasItUpWithItsFence) {
  FakeClock clock;
  struct Case {
    uint64_t fence;
    MemberState state;
    bool may_own;
  };
  for (Case one : {Case{7, MemberState::kUp, true}, Case{8, MemberState::kUp, false},
                   Case{6, MemberState::kUp, false}, Case{7, MemberState::kDown, false},
                   Case{7, MemberState::kDraining, false}}) {
    std::atomic<int> calls{0};
    ScriptedLink scripted(&clock, [&](const std::string& path) -> Result<std::string> {
      ++calls;
      if (path != kRegisterPath) return std::string("{}");
      return ToJson(Registered{.fence = 7, .roster = RosterOf(9, one.fence, one.state)});
    });
    ASSERT_TRUE(Soon([&] { return calls > 1; }));
    EXPECT_EQ(scripted.link->MayOwn(), one.may_own) << one.fence;
    EXPECT_EQ(scripted.link->fence(), 7U);
  }
}

// Says nothing until the deadline.
class SilentCaller : public HeadCaller {
 public:
  explicit SilentCaller(std::atomic<int>* asked) : asked_(*asked) {}
  Result<std::string> Get(const std::string&, Deadline deadline) override {
    ++asked_;
    while (!deadline.passed()) SleepFor(deadline.Remaining(), deadline);
    return Status::Deadline("time was up");
  }
  Result<std::string> Post(const std::string& path, const std::string&,
                           Deadline deadline) override {
    return Get(path, deadline);
  }

 private:
  std::atomic<int>& asked_;
};

TEST(HeadLink, StopsWhileAHeadIsSilent) {
  std::atomic<int> asked{0};
  HeadLink::Options options;
  options.caller = std::make_unique<SilentCaller>(&asked);
  auto link = HeadLink::Start(std::move(options)).ValueOrDie();
  ASSERT_TRUE(Soon([&] { return asked > 0; }));
  auto start = std::chrono::steady_clock::now();
  link.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(500));
}

TEST(HeadLink, AsksOnWhenAnAnswerMakesNoSense) {
  FakeClock clock;
  std::atomic<int> calls{0};
  ScriptedLink scripted(&clock, [&](const std::string&) -> Result<std::string> {
    return std::string(++calls % 2 == 0 ? "no" : R"({"fence": "x"})");
  });
  EXPECT_TRUE(Soon([&] { return calls > 2; }));
  EXPECT_FALSE(scripted.link->MayOwn());
}

}  // namespace
}  // namespace forebay::cluster
