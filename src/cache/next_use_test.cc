#include "cache/next_use.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cache/engine.h"
#include "source/memory_source.h"
#include "table/sample_tables.h"

namespace forebay::cache {
namespace {

constexpr ClientId kClient = 1;
constexpr int64_t kRanges = 600;
constexpr int64_t kRangeRows = 1024;
const std::string kUri = "mem://data/numbers";

std::string NumbersFile() {
  arrow::Int64Builder ids;
  for (int64_t i = 0; i < kRanges * kRangeRows; ++i) EXPECT_TRUE(ids.Append(i).ok());
  auto schema = arrow::schema({arrow::field("id", arrow::int64())});
  return table::WriteParquet(*arrow::Table::Make(schema, {*ids.Finish()}), kRangeRows);
}

// A table of many small ranges, one unit each, in a store of half its size.
class NextUseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_->Put(kUri + "/part.parquet", NumbersFile());
    directory_ = std::filesystem::temp_directory_path() /
                 ("forebay-next-use-" + std::to_string(::getpid()));
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Start(uint64_t quota, bool by_next_use) {
    view_ = {};
    engine_.reset();
    std::filesystem::remove_all(directory_);
    storage::StoreOptions store;
    store.tiers = storage::TiersOf(
        {{.medium = model::Medium::kSsd, .path = directory_, .quota_bytes = quota}});
    store.tiers[0].durable = false;
    store.tiers[0].high_watermark = 0.995;
    store.tiers[0].low_watermark = 0.99;
    Engine::Options options;
    options.next_use = std::make_shared<NextUse>();
    options.range_bytes = kRangeRows * 8;
    options.open_source = [this](const std::string&, const source::Options&) {
      return Result<std::shared_ptr<source::Source>>(source_);
    };
    if (by_next_use) {
      store.policy = std::make_unique<FarthestNextUse>(options.next_use);
    }
    engine_ = Engine::Make(*storage::Store::Open(std::move(store)), options).ValueOrDie();
    view_.version = *engine_->catalog().Open(kUri, {}, Deadline::Never());
    view_.columns = {0};
    ASSERT_EQ(view_.manifest().ranges().size(), kRanges);
  }

  std::vector<model::ChunkRef> RefsOf(const std::vector<uint32_t>& ranges) const {
    std::vector<model::ChunkRef> refs;
    for (uint32_t range : ranges) {
      uint32_t unit = view_.manifest().ranges()[range].unit;
      refs.push_back({range, model::Groups(view_.manifest(), unit, view_.columns)[0]});
    }
    return refs;
  }

  // Reads an epoch range by range as a reader does; the share of ranges that were there.
  double Epoch(plan::Order::Options order, uint64_t epoch) {
    order.epoch = epoch;
    order.layout = plan::RangeLayout::Of(view_.manifest());
    order.rows = order.layout->rows();
    EXPECT_TRUE(engine_->next_use().Follow(kClient, view_, order, 0).ok());
    plan::LookAhead ahead({.order = *plan::Order::Make(order), .layout = order.layout});
    std::vector<uint32_t> ranges = ahead.NextRanges(0, kRanges);
    uint64_t position = 0;
    int hits = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      engine_->next_use().Advance(kClient, view_, position);
      auto refs = RefsOf({ranges[i]});
      hits += engine_->store().Contains(view_.Key(refs[0])) ? 1 : 0;
      EXPECT_TRUE(
          engine_->fills().Request(view_, refs, {Need::kNow, kClient})[0].get().ok());
      position += view_.manifest().ranges()[ranges[i]].row_count;
    }
    return hits / static_cast<double>(ranges.size());
  }

  // The mean of epochs after the first, in a store of half the table.
  double HitShare(plan::Order::Options order, bool by_next_use) {
    Start(0, by_next_use);
    auto warm = engine_->Warmup(view_, kClient, Deadline::Never(),
                                [](const WarmupProgress&) { return true; });
    EXPECT_TRUE(warm.ok()) << warm.status();
    Start(warm->bytes_stored / 2, by_next_use);
    Epoch(order, 0);
    return (Epoch(order, 1) + Epoch(order, 2)) / 2;
  }

  std::shared_ptr<source::MemorySource> source_ =
      std::make_shared<source::MemorySource>();
  std::string directory_;
  std::unique_ptr<Engine> engine_;
  View view_;
};

TEST_F(NextUseTest, HalfAStoreGivesHalfTheHitsOfASequentialEpoch) {
  plan::Order::Options order{.mode = plan::OrderMode::kSequential};
  double ours = HitShare(order, true);
  double least_recent = HitShare(order, false);
  std::printf("sequential: %.3f by next use, %.3f by least recent use\n", ours,
              least_recent);
  EXPECT_GE(ours, 0.98 * 0.5);
  EXPECT_LT(least_recent, 0.1);
}

TEST_F(NextUseTest, HalfAStoreGivesHalfTheHitsOfAWindowEpoch) {
  plan::Order::Options order{
      .mode = plan::OrderMode::kWindow, .seed = 3, .window_ranges = 8};
  double ours = HitShare(order, true);
  double least_recent = HitShare(order, false);
  std::printf("window: %.3f by next use, %.3f by least recent use\n", ours, least_recent);
  EXPECT_GE(ours, 0.98 * 0.5);
  EXPECT_GT(ours, least_recent);
}

TEST_F(NextUseTest, ChunksNobodyFollowsGoFirst) {
  Start(0, true);
  plan::Order::Options order{.mode = plan::OrderMode::kSequential};
  ASSERT_TRUE(engine_->next_use().Follow(kClient, view_, order, 5 * kRangeRows).ok());
  auto key = [&](uint32_t range) { return view_.Key(RefsOf({range})[0]); };
  std::vector<storage::EvictionCandidate> candidates = {
      {.key = key(6)},
      {.key = key(2)},
      {.key = HashBytes("other"), .last_use_ns = 9},
      {.key = key(300)},
      {.key = HashBytes("older"), .last_use_ns = 3}};
  auto shared =
      std::shared_ptr<const NextUse>(&engine_->next_use(), [](const NextUse*) {});
  FarthestNextUse(shared).Order(candidates);
  EXPECT_EQ(candidates[0].key, HashBytes("older"));
  EXPECT_EQ(candidates[1].key, HashBytes("other"));
  EXPECT_EQ(candidates[2].key, key(2));  // not before the next epoch
  EXPECT_EQ(candidates[3].key, key(300));
  EXPECT_EQ(candidates[4].key, key(6));
  engine_->next_use().Forget(kClient);
  EXPECT_FALSE(shared->RowsUntil(key(6)).has_value());
}

}  // namespace
}  // namespace forebay::cache
