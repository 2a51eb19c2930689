#include "cli/store_gc.h"

#include <gtest/gtest.h>

namespace forebay::cli {
namespace {

std::vector<storage::EvictionCandidate> ThreeChunks() {
  return {{.key = {0, 1}, .size = 100, .last_use_ns = 30},
          {.key = {0, 2}, .size = 10, .last_use_ns = 10},
          {.key = {0, 3}, .size = 1, .last_use_ns = 20}};
}

TEST(StoreGc, PlansToEvictTheLeastRecentlyUsedDownToTheQuota) {
  struct Row {
    uint64_t quota, chunks, bytes;
  };
  for (const Row& row : {Row{111, 0, 0}, Row{110, 1, 10}, Row{101, 1, 10},
                         Row{100, 2, 11}, Row{99, 3, 111}, Row{0, 3, 111}}) {
    Evictions planned = PlanEvictions(ThreeChunks(), row.quota);
    EXPECT_EQ(planned.chunks, row.chunks) << row.quota;
    EXPECT_EQ(planned.bytes, row.bytes) << row.quota;
  }
}

}  // namespace
}  // namespace forebay::cli
