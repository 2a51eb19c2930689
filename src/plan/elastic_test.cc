// Jobs that are interrupted and go on with other ranks, workers and batch sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "plan/order.h"
#include "plan/sharding.h"

namespace forebay::plan {
namespace {

constexpr Remainder kRemainders[] = {Remainder::kDrop, Remainder::kPad, Remainder::kWrap,
                                     Remainder::kKeep};

// A part of a job between two interruptions: positions in the order they are consumed,
// step by step and rank by rank, as joined from every worker of every rank.
struct Phase {
  std::vector<uint64_t> positions;
  uint64_t filler = 0;
  uint64_t after = 0;    // where the job goes on
  bool ended = false;    // the epoch is over
  uint64_t dropped = 0;  // if it is
};

// Plays at most `steps_max` steps.
Phase Play(ShardOptions options, uint64_t steps_max) {
  Phase phase;
  std::map<std::pair<uint64_t, uint64_t>, StepSlice> slices;  // by step and rank
  uint64_t total = 0;
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    uint64_t steps = 0, worker_steps = 0;
    for (options.worker = 0; options.worker < options.worker_count; ++options.worker) {
      Shards shards = Shards::Make(options).ValueOrDie();
      steps = shards.step_count();
      total = shards.total_step_count();
      worker_steps += shards.worker_step_count();
      for (uint64_t i = 0; i < shards.worker_step_count(); ++i) {
        uint64_t step = shards.WorkerStep(i);
        if (step >= steps_max) break;
        bool fresh =
            slices.emplace(std::pair(step, options.rank), shards.At(step)).second;
        EXPECT_TRUE(fresh);
      }
      phase.after = shards.PositionAfter(std::min(steps_max, total));
      phase.ended = steps_max >= total;
      phase.dropped = shards.dropped_rows();
    }
    EXPECT_EQ(worker_steps, steps);  // nothing left out between workers
    if (options.remainder == Remainder::kKeep) {
      EXPECT_LE(total - steps, 1U);
    } else {
      EXPECT_EQ(steps, total);  // the same on every rank
    }
  }
  for (const auto& [key, slice] : slices) {
    phase.filler += slice.filler;
    for (uint64_t k = 0; k < slice.count; ++k) {
      phase.positions.push_back((slice.first + k) % options.rows);
    }
  }
  return phase;
}

ShardOptions RandomShape(std::mt19937_64& random) {
  ShardOptions shape;
  shape.world_size = random() % 9 + 1;
  shape.worker_count = random() % 5 + 1;
  if (random() % 2 == 0) {
    shape.batch_size = random() % 7 + 1;
  } else {
    shape.global_batch_size = shape.world_size + random() % 30;
  }
  return shape;
}

uint64_t GlobalBatch(const ShardOptions& o) {
  return o.global_batch_size != 0 ? o.global_batch_size : o.batch_size * o.world_size;
}

TEST(Elastic, AnyInterruptionsAndShapesGiveEachPositionOnceInOrder) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    uint64_t rows = random() % 400;
    Remainder remainder = kRemainders[random() % 4];
    SCOPED_TRACE(testing::Message() << "seed " << seed << " rows " << rows << " "
                                    << RemainderName(remainder));
    std::vector<uint64_t> consumed;
    uint64_t position = 0, filler = 0, dropped = 0;
    ShardOptions shape;
    for (bool ended = false; !ended;) {
      shape = RandomShape(random);
      shape.rows = rows;
      shape.remainder = remainder;
      shape.start_position = position;
      Phase phase = Play(shape, random() % 6);
      consumed.insert(consumed.end(), phase.positions.begin(), phase.positions.end());
      EXPECT_GE(phase.after, position);
      position = phase.after;
      filler += phase.filler;
      ended = phase.ended;
      dropped = phase.dropped;
      ASSERT_GE(consumed.size(), position);
      // Between interruptions every position before it was consumed, and no other.
      if (!ended) {
        ASSERT_EQ(consumed.size(), position);
      }
    }
    uint64_t delivered = rows - (remainder == Remainder::kDrop ? dropped : 0);
    EXPECT_EQ(position, delivered);
    for (uint64_t i = 0; i < consumed.size(); ++i) {
      ASSERT_EQ(consumed[i], i < rows ? i : (i - rows) % rows);
    }
    uint64_t extra = consumed.size() - delivered;
    EXPECT_TRUE(remainder == Remainder::kWrap || extra == 0);
    EXPECT_TRUE(remainder == Remainder::kPad || filler == 0);
    EXPECT_LT(extra, GlobalBatch(shape));
    EXPECT_LT(filler, GlobalBatch(shape));
    EXPECT_LT(dropped, GlobalBatch(shape));
  }
}

TEST(Elastic, GlobalBatchesAreTheSameInEveryWorld) {
  constexpr uint64_t kRows = 10'007, kGlobal = 192, kStart = 1001;
  Order order =
      Order::Make({.mode = OrderMode::kGlobal, .rows = kRows, .seed = 5, .epoch = 2})
          .ValueOrDie();
  auto batches = [&](uint64_t world) {
    std::vector<std::vector<uint64_t>> out;
    for (uint64_t rank = 0; rank < world; ++rank) {
      Shards shards = Shards::Make({.rows = kRows,
                                    .global_batch_size = kGlobal,
                                    .world_size = world,
                                    .rank = rank,
                                    .start_position = kStart})
                          .ValueOrDie();
      out.resize(shards.step_count());
      for (uint64_t step = 0; step < shards.step_count(); ++step) {
        StepSlice slice = shards.At(step);
        std::vector<uint64_t> rows(slice.count);
        order.RowsAt(slice.first, rows);
        out[step].insert(out[step].end(), rows.begin(), rows.end());
      }
    }
    return out;
  };
  auto one = batches(1);
  EXPECT_EQ(one.size(), (kRows - kStart) / kGlobal);
  EXPECT_EQ(one[0].size(), kGlobal);
  EXPECT_EQ(one[0][0], order.RowAt(kStart));
  for (uint64_t world : {2, 3, 5, 8, 64}) EXPECT_EQ(batches(world), one) << world;
}

TEST(Elastic, NothingIsLeftAtTheEnd) {
  for (Remainder remainder : kRemainders) {
    Shards shards =
        Shards::Make(
            {.rows = 10, .batch_size = 4, .remainder = remainder, .start_position = 10})
            .ValueOrDie();
    EXPECT_EQ(shards.step_count(), 0U);
    EXPECT_EQ(shards.PositionAfter(0), 10U);
  }
}

TEST(Elastic, RefusesAPositionPastTheEnd) {
  Status status =
      Shards::Make({.rows = 10, .batch_size = 4, .start_position = 11}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_EQ(
      status.message(),
      "Position 11 lies past the end: an epoch has 10 rows. Is the cursor of another "
      "version?");
}

}  // namespace
}  // namespace forebay::plan
