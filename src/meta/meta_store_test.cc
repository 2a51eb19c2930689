// The one suite that every MetaStore passes.
#include "meta/meta_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "meta/etcd_store.h"
#include "meta/memory_store.h"
#include "meta/sqlite_store.h"
#include "support/servers.h"

namespace forebay::meta {
namespace {

using testing_support::EtcdCluster;
using testing_support::TempFolder;

// One etcd for all tests; each has a prefix of its own.
EtcdCluster* SharedEtcd() {
  static auto cluster = EtcdCluster::Start({});
  return cluster.ok() ? cluster->get() : nullptr;
}

class MetaStoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (IsEtcd() && SharedEtcd() == nullptr) GTEST_SKIP() << "etcd is not installed";
    store_ = OpenStore();
  }
  bool IsEtcd() const { return GetParam() == std::string("Etcd"); }

  std::unique_ptr<MetaStore> OpenStore() {
    if (GetParam() == std::string("Memory"))
      return std::make_unique<MemoryStore>(&clock_);
    if (!IsEtcd()) {
      return SqliteStore::Open(folder_.path() + "/meta.db", &clock_).ValueOrDie();
    }
    static int count = 0;
    return OpenMetaStore("etcd://" + SharedEtcd()->addresses()[0] + "/test" +
                         std::to_string(++count))
        .ValueOrDie();
  }
  // Until keys below `prefix` have gone with their lease.
  void PassUntilGone(const std::string& prefix, milliseconds time) {
    uint64_t revision = store_->List(prefix).ValueOrDie().revision;
    clock_.Advance(time);
    EXPECT_GT(Wait(prefix, revision, 20'000).ValueOrDie(), revision);
  }
  // etcd has a clock of its own.
  void PassTime(milliseconds time) {
    clock_.Advance(time);
    if (IsEtcd()) std::this_thread::sleep_for(time);
  }
  uint64_t Put(const std::string& key, const std::string& value,
               PutOptions options = {}) {
    return store_->Put(key, value, options).ValueOrDie();
  }
  std::string Value(const std::string& key) {
    auto entry = store_->Get(key);
    return entry.ok() ? entry->value : std::string(StatusCodeName(entry.status().code()));
  }
  Result<uint64_t> Wait(const std::string& prefix, uint64_t revision, int ms) {
    return store_->WaitForChange(prefix, revision, Deadline::After(milliseconds(ms)));
  }

  FakeClock clock_;
  TempFolder folder_;
  std::unique_ptr<MetaStore> store_;
};

TEST_P(MetaStoreTest, GivesWhatWasPut) {
  EXPECT_EQ(Value("a"), "not found");
  uint64_t version = Put("a", "1");
  EXPECT_GT(version, kAbsent);
  EXPECT_EQ(store_->Get("a").ValueOrDie(), (Entry{"a", "1", version}));
  EXPECT_GT(Put("a", "2"), version);
  EXPECT_EQ(Value("a"), "2");
}

TEST_P(MetaStoreTest, KeepsAnyTextAndLargeOnes) {
  std::string text = "{\"ä\": \"☃ \\u0000\", 'quoted': \"\n\t\"}";
  Put("datasets/é 'x' %", text);
  EXPECT_EQ(Value("datasets/é 'x' %"), text);
  std::string large(1'000'000, 'x');
  Put("large", large);
  EXPECT_EQ(Value("large"), large);
  Put("empty", "");
  EXPECT_EQ(Value("empty"), "");
}

TEST_P(MetaStoreTest, PutsOnlyWhereTheVersionIsStillThat) {
  uint64_t first = Put("a", "1", {.if_version = kAbsent});
  EXPECT_EQ(store_->Put("a", "2", {.if_version = kAbsent}).status().code(),
            StatusCode::kChanged);
  uint64_t second = Put("a", "2", {.if_version = first});
  EXPECT_EQ(store_->Put("a", "3", {.if_version = first}).status().code(),
            StatusCode::kChanged);
  EXPECT_EQ(Value("a"), "2");
  EXPECT_EQ(store_->Put("b", "3", {.if_version = second}).status().code(),
            StatusCode::kChanged);
  EXPECT_EQ(Value("b"), "not found");
}

TEST_P(MetaStoreTest, LetsOneOfManyWritersWin) {
  uint64_t version = Put("a", "0");
  std::atomic<int> winners{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      auto put = store_->Put("a", std::to_string(i), {.if_version = version});
      winners += put.ok() ? 1 : 0;
      EXPECT_TRUE(put.ok() || put.status().code() == StatusCode::kChanged)
          << put.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
}

TEST_P(MetaStoreTest, DeletesOnlyWhatIsThereInThatVersion) {
  EXPECT_EQ(store_->Delete("a", {}).code(), StatusCode::kNotFound);
  uint64_t first = Put("a", "1");
  uint64_t second = Put("a", "2");
  EXPECT_EQ(store_->Delete("a", first).code(), StatusCode::kChanged);
  EXPECT_TRUE(store_->Delete("a", second).ok());
  EXPECT_EQ(Value("a"), "not found");
  EXPECT_EQ(store_->Delete("a", second).code(), StatusCode::kNotFound);
  Put("b", "1");
  EXPECT_TRUE(store_->Delete("b", {}).ok());
  EXPECT_GT(Put("a", "3"), second) << "versions go on after a deletion";
}

TEST_P(MetaStoreTest, ListsByPrefixInOrder) {
  for (const char* key : {"b/2", "a/1", "b/10", "b", "b0", "c/1"}) Put(key, key);
  auto listing = store_->List("b/").ValueOrDie();
  ASSERT_EQ(listing.entries.size(), 2U);
  EXPECT_EQ(listing.entries[0].key, "b/10");
  EXPECT_EQ(listing.entries[1].key, "b/2");
  EXPECT_EQ(listing.entries[1].value, "b/2");
  EXPECT_GE(listing.revision, listing.entries[1].version);
  EXPECT_EQ(store_->List("").ValueOrDie().entries.size(), 6U);
  EXPECT_TRUE(store_->List("d").ValueOrDie().entries.empty());
}

TEST_P(MetaStoreTest, ListsByPrefixLetterForLetter) {
  for (const char* key : {"a_b/1", "axb/1", "A_b/1", "a%/1", "a"}) Put(key, key);
  auto keys = [&](const char* prefix) {
    std::vector<std::string> found;
    for (const Entry& entry : store_->List(prefix).ValueOrDie().entries) {
      found.push_back(entry.key);
    }
    return found;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys("a_b/"), Keys{"a_b/1"});
  EXPECT_EQ(keys("a%"), Keys{"a%/1"});
  EXPECT_EQ(keys("A"), Keys{"A_b/1"});
}

TEST_P(MetaStoreTest, WaitsUntilTheDeadlineWhenNothingHappens) {
  Put("a/1", "1");
  uint64_t revision = store_->List("a/").ValueOrDie().revision;
  EXPECT_EQ(Wait("a/", revision, 60).ValueOrDie(), revision);
}

TEST_P(MetaStoreTest, WakesForAPutADeletionAndWhatHappenedBefore) {
  Put("a/1", "1");
  uint64_t revision = store_->List("a/").ValueOrDie().revision;
  std::thread writer([&] { Put("a/2", "1"); });
  EXPECT_GT(Wait("a/", revision, 10'000).ValueOrDie(), revision);
  writer.join();
  EXPECT_GT(Wait("a/", revision, 10'000).ValueOrDie(), revision) << "happened before";

  revision = store_->List("a/").ValueOrDie().revision;
  std::thread deleter([&] { EXPECT_TRUE(store_->Delete("a/1", {}).ok()); });
  EXPECT_GT(Wait("a/", revision, 10'000).ValueOrDie(), revision);
  deleter.join();
}

TEST_P(MetaStoreTest, DropsTheKeysOfALeaseThatNobodyKeepsAlive) {
  LeaseId lease = store_->GrantLease(milliseconds(1'000)).ValueOrDie();
  Put("leader", "me", {.if_version = kAbsent, .lease = lease});
  Put("other", "stays");
  uint64_t revision = store_->List("leader").ValueOrDie().revision;
  EXPECT_TRUE(store_->KeepAlive(lease).ok());
  EXPECT_EQ(Value("leader"), "me");
  PassUntilGone("leader", milliseconds(1'000));
  EXPECT_EQ(Value("leader"), "not found");
  EXPECT_EQ(Value("other"), "stays");
  EXPECT_GT(Wait("leader", revision, 10'000).ValueOrDie(), revision);
  EXPECT_EQ(store_->KeepAlive(lease).code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->Put("a", "1", {.lease = lease}).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(Value("a"), "not found");
}

TEST_P(MetaStoreTest, KeepsTheKeysOfALeaseThatIsKeptAlive) {
  LeaseId lease = store_->GrantLease(milliseconds(1'000)).ValueOrDie();
  Put("leader", "me", {.lease = lease});
  for (int i = 0; i < 3; ++i) {
    PassTime(milliseconds(600));
    ASSERT_TRUE(store_->KeepAlive(lease).ok());
  }
  EXPECT_EQ(Value("leader"), "me");
}

TEST_P(MetaStoreTest, EndsALeaseWhenAskedTo) {
  LeaseId lease = store_->GrantLease(milliseconds(60'000)).ValueOrDie();
  LeaseId other = store_->GrantLease(milliseconds(60'000)).ValueOrDie();
  EXPECT_NE(lease, other);
  Put("a", "1", {.lease = lease});
  Put("b", "1", {.lease = other});
  EXPECT_TRUE(store_->EndLease(lease).ok());
  EXPECT_EQ(Value("a"), "not found");
  EXPECT_EQ(Value("b"), "1");
  EXPECT_EQ(store_->EndLease(lease).code(), StatusCode::kNotFound);
}

TEST_P(MetaStoreTest, LetsGoOfALeaseWithTheNextPut) {
  LeaseId lease = store_->GrantLease(milliseconds(60'000)).ValueOrDie();
  Put("a", "1", {.lease = lease});
  Put("a", "2");
  EXPECT_TRUE(store_->EndLease(lease).ok());
  EXPECT_EQ(Value("a"), "2");
}

TEST_P(MetaStoreTest, EndsALeaseAtItsTimeAndNotBefore) {
  if (IsEtcd()) GTEST_SKIP() << "it has a clock of its own";
  LeaseId lease = store_->GrantLease(milliseconds(1'000)).ValueOrDie();
  Put("a", "1", {.lease = lease});
  uint64_t before = store_->List("").ValueOrDie().revision;
  PassTime(milliseconds(999));
  EXPECT_EQ(Value("a"), "1");
  ASSERT_TRUE(store_->KeepAlive(lease).ok());
  PassTime(milliseconds(999));
  EXPECT_EQ(Value("a"), "1") << "it began anew, for its whole time";
  EXPECT_EQ(store_->List("").ValueOrDie().revision, before) << "nothing changed so far";
  PassTime(milliseconds(1));
  EXPECT_EQ(Value("a"), "not found");
  EXPECT_GT(store_->List("").ValueOrDie().revision, before);
  EXPECT_EQ(store_->EndLease(lease).code(), StatusCode::kNotFound);
}

TEST_P(MetaStoreTest, EndsOneLeaseAmongOthers) {
  LeaseId brief = store_->GrantLease(milliseconds(1'000)).ValueOrDie();
  LeaseId lasting = store_->GrantLease(milliseconds(60'000)).ValueOrDie();
  Put("a", "1", {.lease = brief});
  Put("b", "1", {.lease = lasting});
  PassUntilGone("a", milliseconds(1'000));
  EXPECT_EQ(Value("a"), "not found");
  EXPECT_EQ(Value("b"), "1");
  EXPECT_TRUE(store_->KeepAlive(lasting).ok());
  EXPECT_NE(store_->GrantLease(milliseconds(1'000)).ValueOrDie(), brief)
      << "ids are not used again";
}

TEST_P(MetaStoreTest, MovesAKeyToTheLeaseOfTheNextPut) {
  LeaseId first = store_->GrantLease(milliseconds(60'000)).ValueOrDie();
  LeaseId second = store_->GrantLease(milliseconds(60'000)).ValueOrDie();
  Put("a", "1", {.lease = first});
  Put("a", "2", {.lease = second});
  EXPECT_TRUE(store_->EndLease(first).ok());
  EXPECT_EQ(Value("a"), "2");
  EXPECT_TRUE(store_->EndLease(second).ok());
  EXPECT_EQ(Value("a"), "not found");
}

TEST_P(MetaStoreTest, ChangesNothingWhereItRefuses) {
  uint64_t version = Put("a", "1");
  uint64_t revision = store_->List("").ValueOrDie().revision;
  EXPECT_EQ(store_->Put("a", "2", {.if_version = version + 1}).status().code(),
            StatusCode::kChanged);
  EXPECT_EQ(store_->Put("a", "2", {.if_version = version - 1}).status().code(),
            StatusCode::kChanged);
  EXPECT_EQ(store_->Put("a", "2", {.lease = 123'456}).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(store_->Delete("a", version + 1).code(), StatusCode::kChanged);
  EXPECT_EQ(store_->Delete("b", version).code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->KeepAlive(123'456).code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->EndLease(123'456).code(), StatusCode::kNotFound);
  auto listing = store_->List("").ValueOrDie();
  EXPECT_EQ(listing.revision, revision);
  ASSERT_EQ(listing.entries.size(), 1U);
  EXPECT_EQ(listing.entries[0], (Entry{"a", "1", version}));
}

TEST_P(MetaStoreTest, TakesAKeyThatWasDeletedForAbsent) {
  uint64_t first = Put("a", "1", {.if_version = kAbsent});
  ASSERT_TRUE(store_->Delete("a", first).ok());
  EXPECT_EQ(store_->Put("a", "2", {.if_version = first}).status().code(),
            StatusCode::kChanged);
  EXPECT_GT(Put("a", "3", {.if_version = kAbsent}), first);
}

TEST_P(MetaStoreTest, WaitsOnFromTheRevisionItGave) {
  uint64_t revision = store_->List("a").ValueOrDie().revision;
  Put("a", "1");
  uint64_t changed = Wait("a", revision, 10'000).ValueOrDie();
  EXPECT_GT(changed, revision);
  EXPECT_EQ(Wait("a", changed, 30).ValueOrDie(), changed) << "nothing new";
  EXPECT_EQ(store_->List("a").ValueOrDie().revision, changed);
}

INSTANTIATE_TEST_SUITE_P(Stores, MetaStoreTest,
                         ::testing::Values("Memory", "Sqlite", "Etcd"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace forebay::meta
