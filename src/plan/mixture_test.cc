#include "plan/mixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "plan/sharding.h"

namespace forebay::plan {
namespace {

using Counts = std::vector<uint64_t>;
using Weights = std::vector<double>;
using Slots = std::vector<MixtureSlot>;

std::vector<Weights> ManyWeights() {
  std::vector<Weights> all = {{1},
                              {1, 1},
                              {3, 1},
                              {0.7, 0.3},
                              {0, 1, 2},
                              {1, 1, 1},
                              {1e-6, 1},
                              {1, 999},
                              {0.5, 0.25, 0.25},
                              {1e9, 3e9},
                              {0.1, 0.2, 0.3, 0.4},
                              {1.0 / 3, 2.0 / 3},
                              {3.14159265, 2.71828182, 1.41421356}};
  std::mt19937_64 random(41);
  for (int i = 0; i < 40; ++i) {
    Weights weights(random() % 12 + 1);
    for (double& weight : weights) weight = static_cast<double>(random() % 50);
    weights[random() % weights.size()] += 1;
    all.push_back(weights);
  }
  return all;
}

TEST(Interleave, KeepsProportionsWithinASlotAtEveryPrefix) {
  for (const Weights& weights : ManyWeights()) {
    Interleave interleave = Interleave::Make(weights).ValueOrDie();
    uint64_t period = interleave.period();
    Counts counts(weights.size());
    uint64_t end = std::min<uint64_t>(period * 2 + 3, 3'000'000);
    for (uint64_t slot = 0; slot < end; ++slot) {
      ++counts[interleave.SourceAt(slot)];
      for (size_t i = 0; i < counts.size(); ++i) {
        // |count − (slot + 1)·share/period| < 1
        auto off = static_cast<int64_t>(counts[i] * period) -
                   static_cast<int64_t>((slot + 1) * interleave.shares()[i]);
        ASSERT_LT(std::abs(off), static_cast<int64_t>(period)) << slot << " " << i;
      }
    }
  }
}

TEST(Interleave, MeetsWeightsWithFewDecimalsExactly) {
  EXPECT_EQ(Interleave::Make(Weights{0.7, 0.3})->shares(), (Counts{7, 3}));
  EXPECT_EQ(Interleave::Make(Weights{20, 10, 0})->shares(), (Counts{2, 1, 0}));
  EXPECT_EQ(Interleave::Make(Weights{0.123456, 0.876544})->period(), 15625U);
  EXPECT_EQ(Interleave::Make(Weights{1, 1, 1})->period(), 3U);
}

TEST(Interleave, MeetsOtherWeightsToAMillionth) {
  for (const Weights& weights : ManyWeights()) {
    Interleave interleave = Interleave::Make(weights).ValueOrDie();
    double total = 0;
    for (double weight : weights) total += weight;
    for (size_t i = 0; i < weights.size(); ++i) {
      double share = static_cast<double>(interleave.shares()[i]) /
                     static_cast<double>(interleave.period());
      EXPECT_NEAR(share, weights[i] / total, 2e-6);
      EXPECT_EQ(weights[i] == 0, interleave.shares()[i] == 0);
    }
  }
}

TEST(Interleave, FindsAnySlotAtOnce) {
  for (const Weights& weights : ManyWeights()) {
    Interleave interleave = Interleave::Make(weights).ValueOrDie();
    if (interleave.period() > 5000) continue;
    Counts counts(weights.size());
    for (uint64_t slot = 0; slot < 3 * interleave.period(); ++slot) {
      ASSERT_EQ(interleave.CountsAt(slot), counts);
      uint32_t source = interleave.SourceAt(slot);
      ASSERT_EQ(interleave.SlotAfter(source, ++counts[source]), slot + 1);
    }
  }
}

TEST(Interleave, FindsSlotsFarAway) {
  Interleave interleave =
      Interleave::Make(Weights{3.14159265, 2.71828182, 0.001}).ValueOrDie();
  uint64_t slot = (uint64_t{1} << 47) + 12345;
  Counts counts = interleave.CountsAt(slot);
  EXPECT_EQ(counts[0] + counts[1] + counts[2], slot);
  for (uint32_t i = 0; i < 3; ++i) {
    uint64_t after = interleave.SlotAfter(i, counts[i]);
    EXPECT_LE(after, slot);
    EXPECT_EQ(interleave.CountsAt(after)[i], counts[i]);
    EXPECT_EQ(interleave.CountsAt(after - 1)[i], counts[i] - 1);
  }
}

// Saved cursors depend on these values. A failure here means their format changed.
TEST(Interleave, KeepsItsValuesBetweenReleases) {
  auto period = [](const Weights& weights) {
    Interleave interleave = Interleave::Make(weights).ValueOrDie();
    std::string out;
    for (uint16_t source : interleave.pattern()) out += static_cast<char>('a' + source);
    return out;
  };
  EXPECT_EQ(period({0.7, 0.3}), "aabaabaaab");
  EXPECT_EQ(period({1, 1, 1}), "abc");
  EXPECT_EQ(period({5, 3, 2, 1}), "abacababacd");
  EXPECT_EQ(period({0, 1, 2}), "cbc");
}

TEST(Interleave, RefusesWhatAreNoWeights) {
  EXPECT_EQ(Interleave::Make(Weights{0, 0}).status().message(),
            "All weights are 0: give at least one source a weight.");
  EXPECT_EQ(Interleave::Make(Weights{1, -2}).status().message(),
            "-2 is no weight: give a number of 0 or more.");
  EXPECT_FALSE(Interleave::Make(Weights{1, std::nan("")}).ok());
  EXPECT_FALSE(Interleave::Make(Weights{1, HUGE_VAL}).ok());
  EXPECT_FALSE(Interleave::Make(Weights{}).ok());
}

Slots SlotsOf(const Mixture& mixture, uint64_t first, uint64_t count) {
  Slots slots(count);
  mixture.SlotsAt(first, slots);
  return slots;
}

TEST(Mixture, GivesTheRowsOfEachSourceInTurnAndWraps) {
  Mixture mixture =
      Mixture::Make({.rows = {4, 10}, .weights = {{0, {2, 1}}}, .until = Until::kForever})
          .ValueOrDie();
  EXPECT_EQ(mixture.slot_count(), std::nullopt);
  Counts taken(2);
  for (const MixtureSlot& slot : SlotsOf(mixture, 0, 100)) {
    uint64_t rows = slot.source == 0 ? 4 : 10;
    EXPECT_EQ(slot.epoch * rows + slot.position, taken[slot.source]++);
    EXPECT_LT(slot.position, rows);
  }
  EXPECT_EQ(mixture.TakenAt(100), taken);
  EXPECT_NEAR(static_cast<double>(taken[0]), 200.0 / 3, 1);
}

// The end is where a walk through the slots would find it.
TEST(Mixture, EndsWithTheFirstOrTheLastSource) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Mixture::Options options{.rows = Counts(random() % 4 + 1)};
    for (uint64_t& rows : options.rows) rows = random() % 60 + 1;
    uint64_t slot = 0;
    for (uint64_t i = 0; i <= random() % 4; ++i, slot += random() % 50 + 1) {
      Weights weights(options.rows.size());
      for (double& weight : weights) weight = static_cast<double>(random() % 5);
      weights[random() % weights.size()] += 1;
      options.weights.push_back({slot, weights});
    }
    options.until = seed % 2 == 0 ? Until::kFirstExhausted : Until::kAllExhausted;
    Mixture mixture = Mixture::Make(options).ValueOrDie();
    Counts taken(options.rows.size());
    uint64_t first = 0, last = 0, at = 0;
    for (const MixtureSlot& s : SlotsOf(mixture, 0, 5000)) {
      ++at;
      if (++taken[s.source] != options.rows[s.source]) continue;
      if (first == 0) first = at;
      last = at;
    }
    uint64_t expected = options.until == Until::kFirstExhausted ? first : last;
    EXPECT_EQ(mixture.slot_count(), expected) << "seed " << seed;
  }
}

TEST(Mixture, ChangesWeightsFromASlotOn) {
  Mixture mixture = Mixture::Make({.rows = {1000, 1000},
                                   .weights = {{0, {1, 0}}, {10, {0, 1}}, {15, {1, 1}}},
                                   .until = Until::kForever})
                        .ValueOrDie();
  EXPECT_EQ(mixture.TakenAt(10), (Counts{10, 0}));
  EXPECT_EQ(mixture.TakenAt(15), (Counts{10, 5}));
  EXPECT_EQ(mixture.TakenAt(35), (Counts{20, 15}));
  Slots all = SlotsOf(mixture, 0, 200);
  // Cut anywhere, it is the same sequence.
  for (uint64_t first = 0; first < 200; ++first) {
    Slots part = SlotsOf(mixture, first, 200 - first);
    EXPECT_TRUE(
        std::equal(part.begin(), part.end(), all.begin() + static_cast<int64_t>(first)));
  }
}

Cursor JobOf(const Counts& rows) {
  Cursor job{.mixture = MixtureCursor{.seed = 5}};
  for (size_t i = 0; i < rows.size(); ++i) {
    job.sources.push_back({.name = "s" + std::to_string(i), .rows = rows[i]});
  }
  return job;
}

TEST(Mixture, GoesOnWithTheSameSequenceFromAnyCursor) {
  Counts rows = {13, 40, 7};
  std::vector<WeightChange> changes = {
      {0, {0.5, 0.3, 0.2}}, {37, {1, 1, 1}}, {61, {0, 1, 3}}, {150, {5, 2, 1}}};
  Mixture whole =
      Mixture::Make({.rows = rows, .weights = changes, .until = Until::kForever})
          .ValueOrDie();
  Slots all = SlotsOf(whole, 0, 400);
  for (uint64_t slot = 0; slot < 300; ++slot) {
    Cursor saved =
        Cursor::FromJson(whole.CursorAt(slot, JobOf(rows)).ToJson()).ValueOrDie();
    EXPECT_EQ(saved.mixture->position, slot);
    Mixture resumed = Mixture::Resume(saved, changes).ValueOrDie();
    Slots rest = SlotsOf(resumed, slot, 400 - slot);
    ASSERT_TRUE(
        std::equal(rest.begin(), rest.end(), all.begin() + static_cast<int64_t>(slot)))
        << slot;
    // And from there again.
    Cursor second = resumed.CursorAt(slot + 20, saved);
    EXPECT_EQ(second, whole.CursorAt(slot + 20, JobOf(rows)));
  }
}

TEST(Mixture, TakesNewWeightsWhereAJobGoesOn) {
  Counts rows = {100, 100};
  Mixture before = Mixture::Make({.rows = rows, .weights = {{0, {1, 1}}}}).ValueOrDie();
  Cursor saved = before.CursorAt(50, JobOf(rows));
  Mixture after = Mixture::Resume(saved, {{0, {1, 1}}, {50, {1, 0}}}).ValueOrDie();
  EXPECT_EQ(after.TakenAt(60), (Counts{35, 25}));
  // Also at a cursor where no slot had used the weights yet.
  Cursor at_change = after.CursorAt(50, JobOf(rows));
  EXPECT_EQ(Mixture::Resume(at_change, {{50, {0, 1}}})->TakenAt(60), (Counts{25, 35}));
  EXPECT_EQ(
      Mixture::Resume(saved, {{30, {1, 0}}}).status().message(),
      "The weights from slot 30 on are not those the job used up to slot 50: change "
      "weights from slot 50 on or later.");
  saved.sources[0].position += 1;
  EXPECT_EQ(Mixture::Resume(saved, {}).status().code(), StatusCode::kCorrupt);
}

TEST(Mixture, IsCutIntoBatchesLikeAnyOrder) {
  Mixture mixture =
      Mixture::Make(
          {.rows = {30, 50}, .weights = {{0, {1, 2}}}, .until = Until::kAllExhausted})
          .ValueOrDie();
  Slots all = SlotsOf(mixture, 0, *mixture.slot_count());
  for (uint64_t world : {1, 2, 3, 5, 8}) {
    Slots joined;
    uint64_t steps =
        Shards::Make({.rows = all.size(), .global_batch_size = 11})->step_count();
    for (uint64_t step = 0; step < steps; ++step) {
      for (uint64_t rank = 0; rank < world; ++rank) {
        StepSlice slice = Shards::Make({.rows = all.size(),
                                        .global_batch_size = 11,
                                        .world_size = world,
                                        .rank = rank})
                              ->At(step);
        Slots part = SlotsOf(mixture, slice.first, slice.count);
        joined.insert(joined.end(), part.begin(), part.end());
      }
    }
    EXPECT_TRUE(std::equal(joined.begin(), joined.end(), all.begin())) << world;
    EXPECT_EQ(joined.size(), all.size() / 11 * 11);
  }
}

TEST(Mixture, RefusesWhatMakesNoSense) {
  auto message = [](Mixture::Options options) {
    return Mixture::Make(std::move(options)).status().message();
  };
  EXPECT_EQ(message({.rows = {5, 0}, .weights = {{0, {1, 1}}}}),
            "Source 1 of the mixture has a weight but no rows: leave it out.");
  EXPECT_EQ(message({.rows = {5, 6}, .weights = {{0, {1}}}}),
            "There are 2 sources, and 1 weights.");
  EXPECT_EQ(message({.rows = {5}}), "A mixture needs weights: give one a source.");
  EXPECT_NE(message({.rows = {5}, .weights = {{7, {1}}, {7, {2}}}}).find("ascending"),
            std::string::npos);
}

TEST(Mixture, SourcesOfOneLengthHaveSeedsOfTheirOwn) {
  uint64_t web = SourceSeed({.seed = 1, .epoch = 0, .name = "web"});
  EXPECT_EQ(web, SourceSeed({.seed = 1, .epoch = 0, .name = "web"}));
  EXPECT_NE(web, SourceSeed({.seed = 1, .epoch = 0, .name = "books"}));
  EXPECT_NE(web, SourceSeed({.seed = 1, .epoch = 1, .name = "web"}));
  EXPECT_NE(SourceSeed({.seed = 1, .epoch = 1, .name = "web"}),
            SourceSeed({.seed = 2, .epoch = 0, .name = "web"}));
}

}  // namespace
}  // namespace forebay::plan
