#include "cluster/term.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "meta/memory_store.h"

namespace forebay::cluster {
namespace {

TEST(Term, CountsUpFromOne) {
  meta::MemoryStore store;
  EXPECT_EQ(NextTerm(store).ValueOrDie(), 1U);
  EXPECT_EQ(NextTerm(store).ValueOrDie(), 2U);
  EXPECT_EQ(store.Get("term").ValueOrDie().value, R"({"term":2})");
}

TEST(Term, IsTheHighHalfOfAnEpoch) {
  EXPECT_EQ(TermOf((uint64_t{7} << 32) + 0xFFFF'FFFF), 7U);
  EXPECT_EQ(TermOf(0xFFFF'FFFF), 0U);
}

TEST(Term, IsRaisedAboveBothTheHeadsOwnAndWhatWasSeen) {
  meta::MemoryStore store;
  EXPECT_EQ(RaiseTerm(store, {.own = 3, .seen = 7}).ValueOrDie(), 8U);
  EXPECT_EQ(RaiseTerm(store, {.own = 8, .seen = 2}).ValueOrDie(), 9U);
  EXPECT_EQ(NextTerm(store).ValueOrDie(), 10U);
}

TEST(Term, IsNotRaisedByAHeadThatAnotherHasFollowed) {
  meta::MemoryStore store;
  ASSERT_TRUE(store.Put("term", R"({"term":4})", {}).ok());
  EXPECT_EQ(RaiseTerm(store, {.own = 3, .seen = 9}).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(RaiseTerm(store, {.own = 4, .seen = 9}).ValueOrDie(), 10U);
}

TEST(Term, LeavesTermsForHeadsToCome) {
  meta::MemoryStore store;
  EXPECT_EQ(RaiseTerm(store, {.own = 1, .seen = kSeenTermMax + 1}).status().code(),
            StatusCode::kInvalid);
  EXPECT_EQ(RaiseTerm(store, {.own = 1, .seen = kSeenTermMax}).ValueOrDie(),
            kSeenTermMax + 1);
  EXPECT_EQ(NextTerm(store).ValueOrDie(), kSeenTermMax + 2);
  ASSERT_TRUE(
      store.Put("term", R"({"term":)" + std::to_string(kTermMax - 1) + "}", {}).ok());
  EXPECT_EQ(NextTerm(store).ValueOrDie(), kTermMax);
  EXPECT_EQ(NextTerm(store).status().code(), StatusCode::kCorrupt);
}

TEST(Term, SaysSoWhenTheStoreIsSpoiled) {
  meta::MemoryStore store;
  for (const char* bad : {"", "5", "{}", R"({"term":"5"})", R"({"term":-1})"}) {
    ASSERT_TRUE(store.Put("term", bad, {}).ok());
    EXPECT_EQ(NextTerm(store).status().code(), StatusCode::kCorrupt) << bad;
  }
}

TEST(Term, GrowsAlsoWhenManyAskAtOnce) {
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
}  // namespace forebay::cluster
