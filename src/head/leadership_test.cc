#include "head/leadership.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "meta/memory_store.h"

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
    return store_->GrantLease(ttl);
  }
  Status KeepAlive(meta::LeaseId lease) override {
    return cut ? Gone() : store_->KeepAlive(lease);
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
                                    .clock = clock});
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
  std::this_thread::sleep_for(milliseconds(30));  // a call under way ends
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

TEST(NextTerm, GrowsAlsoWhenTwoAskAtOnce) {
  meta::MemoryStore store;
  std::vector<std::thread> threads;
  std::atomic<uint64_t> sum{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { sum += NextTerm(store).ValueOrDie(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 1U + 2 + 3 + 4);
}

}  // namespace
}  // namespace forebay::head
