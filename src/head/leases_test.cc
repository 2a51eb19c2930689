#include "head/leases.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "meta/memory_store.h"
#include "support/hook_store.h"

namespace forebay::head {
namespace {

using nlohmann::json;

constexpr int kLeaseMs = 1'000;

class LeasesTest : public ::testing::Test {
 protected:
  // One head with its own clock.
  struct TestHead {
    TestHead(meta::MetaStore* store, uint64_t term)
        : leases({.store = store, .term = term, .clock = &clock}) {}
    FakeClock clock;
    Leases leases;
  };
  static json Request(const std::string& holder) {
    return {{"epoch", "e"},
            {"rows", 100},
            {"lease_rows", 30},
            {"lease_ms", kLeaseMs},
            {"holder", holder}};
  }
  static Result<json> Ask(TestHead& head, const std::string& verb,
                          const std::string& holder, json more = json::object()) {
    json request = Request(holder);
    request.update(more);
    return head.leases.Answer(verb, request.dump());
  }
  static json Take(TestHead& head, const std::string& holder) {
    return Ask(head, "take", holder).ValueOrDie();
  }
  static Status Acknowledge(TestHead& head, const std::string& holder, uint64_t fence,
                            uint64_t until) {
    return Ask(head, "acknowledge", holder, {{"fence", fence}, {"until", until}})
        .status();
  }

  meta::MemoryStore store_;
  TestHead head_{&store_, 1};
};

TEST_F(LeasesTest, AreGivenOutAcknowledgedAndFinished) {
  uint64_t done = 0;
  for (uint64_t rows : {30, 30, 30, 10}) {
    json answer = Take(head_, "a");
    EXPECT_EQ(answer["finished"], false);
    EXPECT_EQ(answer["lease"]["first"], done);
    EXPECT_EQ(answer["lease"]["count"], rows);
    EXPECT_EQ(answer["lease"]["holder"], "a");
    done += rows;
    EXPECT_TRUE(Acknowledge(head_, "a", answer["lease"]["fence"], done).ok());
  }
  json last = Take(head_, "a");
  EXPECT_EQ(last["finished"], true);
  EXPECT_FALSE(last.contains("lease"));
}

TEST_F(LeasesTest, ATakeThatIsRepeatedGetsTheSameLease) {
  auto take = [](TestHead& head, const char* holder, const char* request) {
    return Ask(head, "take", holder, {{"request", request}}).ValueOrDie();
  };
  json first = take(head_, "a", "1");
  head_.clock.Advance(milliseconds(kLeaseMs / 2));
  json again = take(head_, "a", "1")["lease"];
  EXPECT_EQ(again["fence"], first["lease"]["fence"]);
  EXPECT_EQ(again["first"], 0);
  EXPECT_EQ(take(head_, "b", "1")["lease"]["first"], 30) << "another holder's request";
  EXPECT_EQ(take(head_, "a", "2")["lease"]["first"], 60) << "another request";
  head_.clock.Advance(milliseconds(kLeaseMs * 3 / 4));
  TestHead next(&store_, 2);  // one that takes over, after the answer was lost
  EXPECT_EQ(take(next, "a", "1")["lease"]["fence"], first["lease"]["fence"]);
  EXPECT_EQ(Take(next, "a")["lease"]["first"], 90) << "without a request";
  EXPECT_EQ(Ask(next, "take", "a", {{"request", std::string(129, 'x')}}).status().code(),
            StatusCode::kInvalid);
}

TEST_F(LeasesTest, ATakeIsRepeatedInVainOnceItsLeaseIsDoneOrGivenToAnother) {
  auto take = [this](const char* holder, const char* request) {
    return Ask(head_, "take", holder, {{"request", request}}).ValueOrDie()["lease"];
  };
  json done = take("a", "1");
  ASSERT_TRUE(Acknowledge(head_, "a", done["fence"], 30).ok());
  EXPECT_EQ(take("a", "1")["first"], 30);
  head_.clock.Advance(milliseconds(2 * kLeaseMs));
  EXPECT_EQ(take("b", "2")["first"], 30) << "the lease of a has expired";
  EXPECT_EQ(take("a", "1")["first"], 60);
}

TEST_F(LeasesTest, TellProgressAndWriteNothingForIt) {
  uint64_t revision = store_.List("").ValueOrDie().revision;
  EXPECT_EQ(Ask(head_, "progress", "a").ValueOrDie(),
            (json{{"rows", 100}, {"acknowledged", 0}, {"held", 0}}));
  EXPECT_EQ(store_.List("").ValueOrDie().revision, revision);
  uint64_t fence = Take(head_, "a")["lease"]["fence"];
  EXPECT_TRUE(Acknowledge(head_, "a", fence, 10).ok());
  revision = store_.List("").ValueOrDie().revision;
  EXPECT_EQ(Ask(head_, "progress", "a").ValueOrDie(),
            (json{{"rows", 100}, {"acknowledged", 10}, {"held", 20}}));
  EXPECT_EQ(store_.List("").ValueOrDie().revision, revision);
}

TEST_F(LeasesTest, GoToAnotherWhenTheirHolderIsSilent) {
  json first = Take(head_, "a")["lease"];
  head_.clock.Advance(milliseconds(kLeaseMs - 1));
  EXPECT_EQ(Take(head_, "b")["lease"]["first"], 30);
  head_.clock.Advance(milliseconds(1));
  json again = Take(head_, "c")["lease"];
  EXPECT_EQ(again["first"], 0);
  EXPECT_EQ(Acknowledge(head_, "a", first["fence"], 30).code(), StatusCode::kChanged);
  EXPECT_TRUE(Acknowledge(head_, "c", again["fence"], 30).ok());
}

TEST_F(LeasesTest, SayHowLongToWaitWhenOthersHoldTheRest) {
  for (int i = 0; i < 4; ++i) Take(head_, "a");
  head_.clock.Advance(milliseconds(400));
  json answer = Take(head_, "b");
  EXPECT_EQ(answer["finished"], false);
  EXPECT_FALSE(answer.contains("lease"));
  EXPECT_EQ(answer["wait_ms"], 600);
}

TEST_F(LeasesTest, AreGivenBackAtOnce) {
  uint64_t fence = Take(head_, "a")["lease"]["fence"];
  EXPECT_TRUE(Ask(head_, "release", "a", {{"fence", fence}}).ok());
  EXPECT_EQ(Take(head_, "b")["lease"]["first"], 0);
  EXPECT_EQ(Ask(head_, "release", "a", {{"fence", fence}}).status().code(),
            StatusCode::kChanged);
}

TEST_F(LeasesTest, MayBeAcknowledgedAgainWhereTheAnswerWasLost) {
  uint64_t fence = Take(head_, "a")["lease"]["fence"];
  EXPECT_TRUE(Acknowledge(head_, "a", fence, 30).ok());
  EXPECT_TRUE(Acknowledge(head_, "a", fence, 30).ok()) << "the same again";
  EXPECT_EQ(Acknowledge(head_, "a", fence, 29).code(), StatusCode::kChanged);
  EXPECT_EQ(Acknowledge(head_, "b", fence, 30).code(), StatusCode::kChanged);
}

TEST_F(LeasesTest, RememberNoAcknowledgementThatWasRefused) {
  uint64_t fence = Take(head_, "a")["lease"]["fence"];
  EXPECT_EQ(Acknowledge(head_, "a", fence, 99).code(), StatusCode::kInvalid);
  EXPECT_EQ(Acknowledge(head_, "a", fence, 99).code(), StatusCode::kInvalid);
}

TEST_F(LeasesTest, GoOnUnderTheNextHeadByItsOwnClock) {
  json lease = Take(head_, "a")["lease"];
  // The next head's machine was started long after this one's, or long before.
  TestHead later(&store_, 2);
  later.clock.Advance(std::chrono::hours(100));
  EXPECT_EQ(Take(later, "b")["lease"]["first"], 30)
      << "by the old head's clock the lease of a ended long ago";
  EXPECT_TRUE(Acknowledge(later, "a", lease["fence"], 10).ok());
  TestHead earlier(&store_, 3);
  earlier.clock.Advance(milliseconds(10));
  for (int i = 0; i < 2; ++i) Take(earlier, "c");
  EXPECT_EQ(Take(earlier, "c")["wait_ms"], kLeaseMs)
      << "by the old head's clock they last for days";
  earlier.clock.Advance(milliseconds(kLeaseMs));
  EXPECT_EQ(Take(earlier, "d")["lease"]["first"], 10);
}

TEST_F(LeasesTest, LastAsLongAsTheyDidUnderTheSameHead) {
  Take(head_, "a");
  Leases again({.store = &store_, .term = 1, .clock = &head_.clock});
  head_.clock.Advance(milliseconds(kLeaseMs));
  json answer = again.Answer("take", Request("b").dump()).ValueOrDie();
  EXPECT_EQ(answer["lease"]["first"], 0);
}

TEST_F(LeasesTest, AreGivenOnceWhereTwoHeadsWriteAtTheSameTime) {
  testing_support::HookStore store;
  TestHead one(&store, 1), other(&store, 1);
  json faster;
  store.before_put = [&] { faster = Take(other, "b")["lease"]; };
  json lease = Take(one, "a")["lease"];
  EXPECT_EQ(faster["first"], 0);
  EXPECT_EQ(lease["first"], 30) << "rows are given to two";
  EXPECT_NE(lease["fence"], faster["fence"]);
}

TEST_F(LeasesTest, AreOfOneEpochEach) {
  Take(head_, "a");
  EXPECT_EQ(Ask(head_, "take", "b", {{"epoch", "f"}}).ValueOrDie()["lease"]["first"], 0);
  for (int rows : {99, 101}) {
    auto other = Ask(head_, "take", "b", {{"rows", rows}});
    EXPECT_EQ(other.status().code(), StatusCode::kInvalid) << rows;
  }
}

TEST_F(LeasesTest, RefuseWhatMakesNoSense) {
  for (json more : {json{{"lease_rows", 0}}, json{{"lease_ms", 0}},
                    json{{"lease_ms", uint64_t{1} << 63}},
                    json{{"lease_ms", 7LL * 24 * 3'600'000 + 1}},
                    json{{"holder", std::string(16 * 1024 + 1, 'x')}},
                    json{{"epoch", std::string(16 * 1024 + 1, 'x')}}, json{{"rows", -1}},
                    json{{"holder", 5}}, json{{"lease_row", 5}}}) {
    EXPECT_EQ(Ask(head_, "take", "a", more).status().code(), StatusCode::kInvalid)
        << more.dump().substr(0, 100);
  }
  EXPECT_TRUE(Ask(head_, "take", "a", {{"lease_ms", 7LL * 24 * 3'600'000}}).ok());
  EXPECT_EQ(Ask(head_, "takes", "a").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Ask(head_, "acknowledge", "a").status().code(), StatusCode::kInvalid);
  EXPECT_EQ(Ask(head_, "release", "a").status().code(), StatusCode::kInvalid);
  EXPECT_EQ(Ask(head_, "release", "a", {{"fence", 1}, {"untill", 2}}).status().message(),
            "a request for leases has no member 'untill'");
  EXPECT_EQ(head_.leases.Answer("take", "no").status().code(), StatusCode::kInvalid);
}

TEST_F(LeasesTest, AreForgottenWhenNobodyAsksForTwoWeeks) {
  using std::chrono::hours;
  Take(head_, "a");
  ASSERT_TRUE(Ask(head_, "take", "a", {{"epoch", "f"}}).ok());
  head_.clock.Advance(hours(24 * 13));
  Take(head_, "a");
  head_.clock.Advance(hours(24));
  EXPECT_TRUE(head_.leases.Forget().ok());
  EXPECT_EQ(store_.List("leases/").ValueOrDie().entries.size(), 2U) << "not yet";
  head_.clock.Advance(hours(1));
  EXPECT_TRUE(head_.leases.Forget().ok());
  EXPECT_EQ(store_.List("leases/").ValueOrDie().entries.size(), 1U);
  EXPECT_EQ(Ask(head_, "progress", "a").ValueOrDie()["held"], 30) << "the other stays";
  // The next head counts anew: it does not know who asked the one before.
  TestHead next(&store_, 2);
  EXPECT_TRUE(next.leases.Forget().ok());
  next.clock.Advance(hours(24 * 14));
  EXPECT_TRUE(next.leases.Forget().ok());
  EXPECT_EQ(store_.List("leases/").ValueOrDie().entries.size(), 1U);
  next.clock.Advance(hours(1));
  EXPECT_TRUE(next.leases.Forget().ok());
  EXPECT_TRUE(store_.List("leases/").ValueOrDie().entries.empty());
}

TEST_F(LeasesTest, AreOfSoManyEpochs) {
  Leases leases({.store = &store_, .clock = &head_.clock, .tables_max = 2});
  auto take = [&](const char* epoch) {
    json request = Request("a");
    request["epoch"] = epoch;
    return leases.Answer("take", request.dump()).status().code();
  };
  EXPECT_EQ(take("e"), StatusCode::kOk);
  EXPECT_EQ(take("f"), StatusCode::kOk);
  EXPECT_EQ(take("g"), StatusCode::kFull);
  EXPECT_EQ(take("e"), StatusCode::kOk) << "those there are go on";
}

TEST_F(LeasesTest, SaySoWhenTheStoreIsSpoiled) {
  Take(head_, "a");
  std::string key = store_.List("leases/").ValueOrDie().entries[0].key;
  for (const char* bad :
       {"{}", "[]", R"({"term":1,"rows":100,"frontier":200,"next_fence":1,"held":[],
                        "acknowledged":[]})",
        R"({"term":1,"rows":100,"frontier":0,"next_fence":1,"held":[5],
            "acknowledged":[]})",
        R"({"term":1,"rows":100,"frontier":0,"next_fence":1,"held":[],
            "acknowledged":[5]})"}) {
    ASSERT_TRUE(store_.Put(key, bad, {}).ok());
    EXPECT_FALSE(Ask(head_, "take", "a").ok()) << bad;
  }
}

}  // namespace
}  // namespace forebay::head
