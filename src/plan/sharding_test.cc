#include "plan/sharding.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace forebay::plan {
namespace {

struct Delivered {
  std::vector<uint64_t> times;  // each row, over all ranks and workers
  std::vector<uint64_t> steps;  // of each rank
  uint64_t filler = 0;
  uint64_t dropped = 0;
  uint64_t total_steps = 0;
  std::vector<std::vector<uint64_t>> global;  // positions of each global batch
};

// Plays a whole epoch: every worker of every rank.
Delivered Play(ShardOptions options) {
  Delivered out;
  out.times.resize(options.rows);
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    uint64_t rank_steps = 0;
    std::vector<std::vector<uint64_t>> batches;
    for (options.worker = 0; options.worker < options.worker_count; ++options.worker) {
      Shards shards = Shards::Make(options).ValueOrDie();
      batches.resize(shards.step_count());
      out.global.resize(shards.total_step_count());
      out.dropped = shards.dropped_rows();
      out.total_steps = shards.total_step_count();
      rank_steps += shards.worker_step_count();
      for (uint64_t i = 0; i < shards.worker_step_count(); ++i) {
        uint64_t step = shards.WorkerStep(i);
        EXPECT_LT(step, shards.step_count());
        EXPECT_TRUE(batches[step].empty());
        StepSlice slice = shards.At(step);
        EXPECT_GT(slice.count + slice.filler, 0U);
        out.filler += slice.filler;
        for (uint64_t k = 0; k < slice.count; ++k) {
          batches[step].push_back(slice.first + k);
          ++out.times[(slice.first + k) % options.rows];
        }
      }
    }
    for (size_t step = 0; step < batches.size(); ++step) {
      auto& global = out.global[step];
      global.insert(global.end(), batches[step].begin(), batches[step].end());
    }
    out.steps.push_back(rank_steps);
  }
  return out;
}

uint64_t GlobalBatch(const ShardOptions& o) {
  return o.global_batch_size != 0 ? o.global_batch_size : o.batch_size * o.world_size;
}

// The remainder table of docs/orders.md, row by row.
void ExpectAsTheTableSays(const ShardOptions& o) {
  SCOPED_TRACE(testing::Message()
               << "rows " << o.rows << " batch " << o.batch_size << " global "
               << o.global_batch_size << " ranks " << o.world_size << " workers "
               << o.worker_count << " " << RemainderName(o.remainder));
  Delivered got = Play(o);
  uint64_t g = GlobalBatch(o);
  uint64_t whole = o.rows / g, rest = o.rows % g;
  uint64_t delivered = std::accumulate(got.times.begin(), got.times.end(), uint64_t{0});
  bool equal_steps = o.remainder != Remainder::kKeep;
  for (uint64_t steps : got.steps) {
    if (equal_steps) {
      EXPECT_EQ(steps, got.steps[0]);
    } else {
      EXPECT_LE(got.steps[0] - steps, 1U);
    }
  }
  uint64_t rounded = whole + (rest != 0 ? 1 : 0);
  switch (o.remainder) {
    case Remainder::kDrop:
      EXPECT_EQ(got.steps[0], whole);
      EXPECT_EQ(got.dropped, rest);
      for (uint64_t p = 0; p < o.rows; ++p)
        EXPECT_EQ(got.times[p], p < whole * g ? 1U : 0U);
      break;
    case Remainder::kPad:
      EXPECT_EQ(got.steps[0], rounded);
      for (uint64_t times : got.times) EXPECT_EQ(times, 1U);
      EXPECT_EQ(got.filler, rounded * g - o.rows);
      break;
    case Remainder::kWrap:
      EXPECT_EQ(got.steps[0], rounded);
      EXPECT_EQ(delivered, rounded * g);
      for (uint64_t p = 0; p < o.rows; ++p) {
        uint64_t extra = rounded * g - o.rows;
        EXPECT_EQ(got.times[p], 1 + extra / o.rows + (p < extra % o.rows ? 1 : 0));
      }
      break;
    case Remainder::kKeep:
      EXPECT_EQ(got.steps[0], rounded);
      for (uint64_t times : got.times) EXPECT_EQ(times, 1U);
      break;
  }
  EXPECT_TRUE(o.remainder == Remainder::kPad || got.filler == 0);
  EXPECT_TRUE(o.remainder == Remainder::kDrop || got.dropped == 0);
  // Joined over the ranks, global batch s is the positions from s·G on.
  for (uint64_t s = 0; s < got.global.size(); ++s) {
    for (uint64_t k = 0; k < got.global[s].size(); ++k) {
      ASSERT_EQ(got.global[s][k], s * g + k);
    }
  }
}

constexpr Remainder kRemainders[] = {Remainder::kDrop, Remainder::kPad, Remainder::kWrap,
                                     Remainder::kKeep};

TEST(Shards, DeliverEveryRowAsTheTableSays) {
  for (uint64_t rows : {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 64}) {
    for (uint64_t world : {1, 2, 3, 5, 8}) {
      for (uint64_t batch : {1, 2, 3, 7, 40}) {
        for (uint64_t workers : {1, 2, 3, 4}) {
          for (Remainder remainder : kRemainders) {
            ExpectAsTheTableSays({.rows = rows,
                                  .batch_size = batch,
                                  .world_size = world,
                                  .worker_count = workers,
                                  .remainder = remainder});
          }
        }
      }
    }
  }
}

TEST(Shards, DeliverEveryRowAlsoWhenRanksDoNotDivideTheBatch) {
  std::mt19937 random(21);
  for (int i = 0; i < 2000; ++i) {
    uint64_t world = random() % 9 + 1;
    ExpectAsTheTableSays({.rows = random() % 200,
                          .global_batch_size = world + random() % 40,
                          .world_size = world,
                          .worker_count = random() % 5 + 1,
                          .remainder = kRemainders[random() % 4]});
  }
}

TEST(Shards, SplitAGlobalBatchByTheFloorRule) {
  ShardOptions options{.rows = 100, .global_batch_size = 10, .world_size = 4};
  uint64_t expected_first[] = {0, 2, 5, 7}, expected_count[] = {2, 3, 2, 3};
  for (options.rank = 0; options.rank < 4; ++options.rank) {
    StepSlice slice = Shards::Make(options).ValueOrDie().At(2);
    EXPECT_EQ(slice, (StepSlice{.first = 20 + expected_first[options.rank],
                                .count = expected_count[options.rank]}));
  }
}

TEST(Shards, HaveNoStepsWithoutRows) {
  for (Remainder remainder : kRemainders) {
    auto shards =
        Shards::Make({.batch_size = 4, .world_size = 3, .remainder = remainder});
    EXPECT_EQ(shards->step_count(), 0U);
    EXPECT_EQ(shards->worker_step_count(), 0U);
    EXPECT_EQ(shards->total_step_count(), 0U);
  }
}

TEST(Shards, CountLargeEpochsWithoutOverflow) {
  auto shards = Shards::Make({.rows = uint64_t{1} << 48,
                              .global_batch_size = uint64_t{1} << 39,
                              .world_size = 1'000'003,
                              .rank = 1'000'002});
  EXPECT_EQ(shards->step_count(), 512U);
  StepSlice last = shards->At(511);
  EXPECT_EQ(last.first + last.count, uint64_t{1} << 48);
}

TEST(Shards, RefuseWhatMakesNoSenseInOneSentence) {
  auto message = [](ShardOptions options) {
    options.rows = 10;
    Status status = Shards::Make(options).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    return status.message();
  };
  EXPECT_EQ(message({}), "The batch size is 0: give at least 1.");
  EXPECT_EQ(message({.batch_size = 1, .world_size = 4, .rank = 4}),
            "Rank 4 does not exist in a world of 4: ranks count from 0 to 3.");
  EXPECT_EQ(message({.batch_size = 1, .world_size = 0}),
            "The world size is 0: give at least 1.");
  EXPECT_EQ(message({.batch_size = 1, .worker_count = 2, .worker = 2}),
            "Worker 2 does not exist among 2: workers count from 0 to 1.");
  EXPECT_EQ(message({.batch_size = 1, .worker_count = 0}),
            "The worker count is 0: give at least 1.");
  EXPECT_EQ(message({.batch_size = 1, .global_batch_size = 1}),
            "Both batch_size and global_batch_size are given: give only one of them.");
  EXPECT_NE(message({.global_batch_size = 3, .world_size = 4}).find("world size"),
            std::string::npos);
  EXPECT_NE(message({.batch_size = ~uint64_t{0}}).find("too large"), std::string::npos);
  EXPECT_NE(message({.batch_size = uint64_t{1} << 33, .world_size = uint64_t{1} << 31})
                .find("too large"),
            std::string::npos);
}

TEST(Remainder, HasNames) {
  for (Remainder remainder : kRemainders) {
    EXPECT_EQ(*ParseRemainder(RemainderName(remainder)), remainder);
  }
  EXPECT_EQ(ParseRemainder("repeat").status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::plan
