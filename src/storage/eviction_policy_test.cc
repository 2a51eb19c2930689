#include "storage/eviction_policy.h"

#include <gtest/gtest.h>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

TEST(LeastRecentUse, PutsTheOldestFirst) {
  std::vector<EvictionCandidate> candidates = {{.key = KeyOf(1), .last_use_ns = 30},
                                               {.key = KeyOf(2), .last_use_ns = 10},
                                               {.key = KeyOf(3), .last_use_ns = 20}};
  LeastRecentUse().Order(candidates);
  EXPECT_EQ(candidates[0].key, KeyOf(2));
  EXPECT_EQ(candidates[1].key, KeyOf(3));
  EXPECT_EQ(candidates[2].key, KeyOf(1));
}

TEST(LeastRecentUse, BreaksTiesByKeySoThatAllProcessesChooseAlike) {
  Hash128 low{.high = 1, .low = 9};
  Hash128 high{.high = 2, .low = 0};
  for (bool swapped : {false, true}) {
    std::vector<EvictionCandidate> candidates = {{.key = low, .last_use_ns = 5},
                                                 {.key = high, .last_use_ns = 5},
                                                 {.key = high, .last_use_ns = 4}};
    if (swapped) std::swap(candidates[0], candidates[1]);
    LeastRecentUse().Order(candidates);
    EXPECT_EQ(candidates[0].last_use_ns, 4);
    EXPECT_EQ(candidates[1].key, low);
    EXPECT_EQ(candidates[2].key, high);
  }
}

}  // namespace
}  // namespace forebay::storage
