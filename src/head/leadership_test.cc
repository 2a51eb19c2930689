#include "head/leadership.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "meta/memory_store.h"
#include "support/no_threads.h"

namespace forebay::head {
namespace {

bool Soon(const std::function<bool()>& condition) {
  Deadline deadline = Deadline::After(milliseconds(10'000));
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

// A store that can be cut off from one of its users.
class CutStore : public meta::MetaStore {
 public:
  explicit CutStore(meta::MetaStore* store) : store_(store) {}
  std::atomic<bool> cut{false};
  // What happens while a lease is granted or kept alive, before the answer comes.
  std::function<void()> during_grant;
  std::function<void()> during_keep_alive;
  std::atomic<int> keep_alives{0};

  Result<meta::Entry> Get(const std::string& key) override {
    if (cut) return Gone();
    return store_->Get(key);
  }
  Result<uint64_t> Put(const std::string& key, const std::string& value,
                       const meta::PutOptions& options) override {
    if (cut) return Gone();
    return store_->Put(key, value, options);
  }
  Status Delete(const std::string& key, std::optional<uint64_t> version) override {
    return cut ? Gone() : store_->Delete(key, version);
  }
  Result<meta::Listing> List(const std::string& prefix) override {
    if (cut) return Gone();
    return store_->List(prefix);
  }
  Result<uint64_t> WaitForChange(const std::string& prefix, uint64_t revision,
                                 Deadline deadline) override {
    if (cut) return Gone();
    return store_->WaitForChange(prefix, revision, deadline);
  }
  Result<meta::LeaseId> GrantLease(milliseconds ttl) override {
    if (cut) return Gone();
    auto lease = store_->GrantLease(ttl);
    if (during_grant) during_grant();
    return lease;
  }
  Status KeepAlive(meta::LeaseId lease) override {
    ++keep_alives;
    if (cut) return Gone();
    Status kept = store_->KeepAlive(lease);
    if (during_keep_alive) during_keep_alive();
    return kept;
  }
  Status EndLease(meta::LeaseId lease) override {
    return cut ? Gone() : store_->EndLease(lease);
  }

 private:
  static Status Gone() { return Status::Unavailable("cut off"); }
  meta::MetaStore* store_;
};

// One head that wants to lead.
struct Contender {
  Contender(meta::MetaStore* store, const Clock* clock, std::string address)
      : store(store) {
    leadership = Leadership::Start({.store = &this->store,
                                    .address = std::move(address),
                                    .lease = milliseconds(60),
                                    .on_lead =
                                        [this](uint64_t term) {
                                          this->term = term;
                                          return Status::OK();
                                        },
                                    .on_lose = [this] { ++losses; },
                                    .clock = clock})
                     .ValueOrDie();
  }
  CutStore store;
  std::atomic<uint64_t> term{0};
  std::atomic<int> losses{0};
  std::unique_ptr<Leadership> leadership;

  bool leads() const { return leadership->leads(); }
};

TEST(Leadership, IsOnesAtATimeAndKnownToTheOther) {
  FakeClock clock;
  meta::MemoryStore store(&clock);
  Contender one(&store, &clock, "one:1");
  ASSERT_TRUE(Soon([&] { return one.leads(); }));
  Contender other(&store, &clock, "other:1");
  ASSERT_TRUE(Soon([&] { return other.leadership->leader() == "one:1"; }));
  EXPECT_FALSE(other.leads());
  EXPECT_EQ(one.leadership->leader(), "one:1");
  EXPECT_EQ(one.term, 1U);
}

TEST(Leadership, GoesOnAtOnceWhenTheLeaderEnds) {
  FakeClock clock;
  meta::MemoryStore store(&clock);
  auto one = std::make_unique<Contender>(&store, &clock, "one:1");
  ASSERT_TRUE(Soon([&] { return one->leads(); }));
  Contender other(&store, &clock, "other:1");
  one.reset();
  EXPECT_TRUE(Soon([&] { return other.leads(); }));
  EXPECT_EQ(other.term, 2U);
}

TEST(Leadership, EndsByItsOwnClockBeforeAnotherMayLead) {
  FakeClock clock;
  meta::MemoryStore store(&clock);
  Contender one(&store, &clock, "one:1");
  ASSERT_TRUE(Soon([&] { return one.leads(); }));
  Contender other(&store, &clock, "other:1");
  one.store.cut = true;
  int before = one.store.keep_alives;  // once there is another, none is under way
  ASSERT_TRUE(Soon([&] { return one.store.keep_alives > before; }));
  for (int i = 0; i < 59; ++i) {
    clock.Advance(milliseconds(1));
    EXPECT_FALSE(one.leads() && other.leads());
  }
  clock.Advance(milliseconds(1));
  EXPECT_FALSE(one.leads());
  EXPECT_TRUE(Soon([&] { return other.leads(); }));
  EXPECT_TRUE(Soon([&] { return one.losses == 1; }));
  EXPECT_GT(other.term, one.term);
  one.store.cut = false;
  EXPECT_TRUE(Soon([&] { return one.leadership->leader() == "other:1"; }));
}

// Head and store count from their own sides: only one that is alive moves the time.
Leadership::Options Alone(meta::MetaStore* store, const Clock* clock) {
  return {.store = store,
          .address = "one:1",
          .lease = milliseconds(60),
          .on_lead = [](uint64_t) { return Status::OK(); },
          .on_lose = [] {},
          .clock = clock};
}

TEST(Leadership, CountsItsLeaseFromTheQuestionNotFromTheAnswer) {
  FakeClock clock;
  meta::MemoryStore memory(&clock);
  CutStore store(&memory);
  // The store heard it at once, but the answer takes 40 of the 60 ms.
  store.during_keep_alive = [&] {
    clock.Advance(milliseconds(40));
    store.cut = true;
  };
  auto leadership = Leadership::Start(Alone(&store, &clock)).ValueOrDie();
  ASSERT_TRUE(Soon([&] { return store.keep_alives > 1; }));
  clock.Advance(milliseconds(19));
  EXPECT_TRUE(leadership->leads());
  clock.Advance(milliseconds(1));
  EXPECT_FALSE(leadership->leads()) << "the store may have ended the lease";
}

TEST(Leadership, CountsItsFirstLeaseFromTheQuestion) {
  FakeClock clock;
  meta::MemoryStore memory(&clock);
  CutStore store(&memory);
  store.during_grant = [&] { clock.Advance(milliseconds(40)); };
  std::atomic<bool> cut{false};
  auto options = Alone(&store, &clock);
  options.on_lead = [&](uint64_t) {
    store.cut = cut = true;
    return Status::OK();
  };
  auto leadership = Leadership::Start(std::move(options)).ValueOrDie();
  ASSERT_TRUE(Soon([&] { return cut && store.keep_alives > 0; }));
  clock.Advance(milliseconds(19));
  EXPECT_TRUE(leadership->leads());
  clock.Advance(milliseconds(1));
  EXPECT_FALSE(leadership->leads());
}

TEST(Leadership, GoesOnToTheNextWhenItCannotBegin) {
  FakeClock clock;
  meta::MemoryStore store(&clock);
  std::atomic<int> tries{0};
  auto options = Alone(&store, &clock);
  options.on_lead = [&](uint64_t) {
    return ++tries < 2 ? Status::Unavailable("not yet") : Status::OK();
  };
  auto leadership = Leadership::Start(std::move(options)).ValueOrDie();
  ASSERT_TRUE(Soon([&] { return leadership->leads(); }));
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(NextTerm(store).ValueOrDie(), 3U) << "each try has a term of its own";
}

TEST(Leadership, IsOnesWhoWasFaster) {
  FakeClock clock;
  meta::MemoryStore memory(&clock);
  CutStore store(&memory);
  // Between the look at an empty store and the write, another head takes the lead.
  store.during_grant = [&] {
    EXPECT_TRUE(memory.Put("leader", R"({"head":"other:1"})", {}).ok());
  };
  auto leadership = Leadership::Start(Alone(&store, &clock)).ValueOrDie();
  ASSERT_TRUE(Soon([&] { return leadership->leader() == "other:1"; }));
  EXPECT_FALSE(leadership->leads());
  EXPECT_FALSE(memory.Get("term").ok()) << "who does not lead has no term";
}

TEST(Leadership, IsLostWhenTheLeaseHasEnded) {
  FakeClock clock;
  meta::MemoryStore memory(&clock);
  Contender one(&memory, &clock, "one:1");
  ASSERT_TRUE(Soon([&] { return one.leads(); }));
  uint64_t term = one.term;
  // As if somebody had emptied the store.
  auto leader = memory.Get("leader").ValueOrDie();
  EXPECT_EQ(leader.value, R"({"head":"one:1"})");
  for (meta::LeaseId lease = 1; lease < 10; ++lease) (void)memory.EndLease(lease);
  EXPECT_TRUE(Soon([&] { return one.losses == 1; }));
  EXPECT_TRUE(Soon([&] { return one.leads() && one.term > term; })) << "takes it again";
}

TEST(Leadership, AtTheLimitOfThreadsSaysSoAndTakesNoLead) {
  FakeClock clock;
  meta::MemoryStore store(&clock);
  testing_support::NoThreads limit;
  auto leadership = Leadership::Start(Alone(&store, &clock));
  EXPECT_EQ(leadership.status().code(), StatusCode::kFull);
  EXPECT_NE(leadership.status().message().find("ulimit -u"), std::string::npos);
  EXPECT_EQ(store.Get("leader").status().code(), StatusCode::kNotFound);
}

TEST(Leadership, KnowsNoLeaderWhileNobodyLeads) {
  FakeClock clock;
  meta::MemoryStore memory(&clock);
  CutStore store(&memory);
  store.cut = true;
  auto leadership = Leadership::Start(Alone(&store, &clock)).ValueOrDie();
  EXPECT_EQ(leadership->leader(), "");
  EXPECT_FALSE(leadership->leads());
  // The same address in the store is that of a process before this one.
  ASSERT_TRUE(memory.Put("leader", R"({"head":"one:1"})", {}).ok());
  store.cut = false;
  Contender other(&memory, &clock, "other:1");
  ASSERT_TRUE(Soon([&] { return other.leadership->leader() == "one:1"; }));
  EXPECT_EQ(leadership->leader(), "");
}

}  // namespace
}  // namespace forebay::head
