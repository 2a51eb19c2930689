#include "plan/quality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "plan/order.h"

namespace forebay::plan {
namespace {

constexpr uint64_t kRows = 100'000, kFiles = 20;

OrderQuality QualityOf(OrderMode mode, uint64_t rows = kRows,
                       uint64_t window_ranges = 4) {
  constexpr uint64_t kRanges = 100;
  auto layout = RangeLayout::Of(std::vector<uint64_t>(kRanges, rows / kRanges));
  Order order = Order::Make({.mode = mode,
                             .rows = rows,
                             .seed = 7,
                             .window_ranges = window_ranges,
                             .layout = layout})
                    .ValueOrDie();
  QualityOptions options{
      .rows = rows, .batch_size = 250, .files = EvenFileRuns(rows, kFiles)};
  return MeasureQuality(options, [&](uint64_t first, std::span<uint64_t> out) {
    order.RowsAt(first, out);
  });
}

void ExpectAsAShuffle(const OrderQuality& quality) {
  EXPECT_NEAR(quality.mean_displacement, 1.0 / 3, 0.005);
  // 250 rows of 20 files: none is missed but once in 400,000 files.
  EXPECT_NEAR(quality.files_per_batch, kFiles, 0.01);
  double expected = quality.chi_square_expected;
  EXPECT_NEAR(quality.chi_square, expected, 5 * std::sqrt(2 * expected));
  for (double lag : quality.lag1_correlation) EXPECT_NEAR(lag, 0, 0.05);
}

TEST(OrderQuality, TellsGlobalAndFisherYatesNotApart) {
  OrderQuality global = QualityOf(OrderMode::kGlobal);
  EXPECT_EQ(global.rows_looked_at, kRows);
  EXPECT_DOUBLE_EQ(global.chi_square_expected, 81);
  ExpectAsAShuffle(global);
  QualityOptions options{
      .rows = kRows, .batch_size = 250, .files = EvenFileRuns(kRows, kFiles)};
  ExpectAsAShuffle(MeasureQuality(options, FisherYates(kRows, 1)));
}

TEST(OrderQuality, LooksAtAPartOfLargeEpochs) {
  constexpr uint64_t kLarge = uint64_t{1'000'000'000'000};
  OrderQuality global = QualityOf(OrderMode::kGlobal, kLarge);
  EXPECT_NEAR(static_cast<double>(global.rows_looked_at), kQualityRowsMax, 250);
  EXPECT_NEAR(global.chi_square_expected, 90, 0.01);
  ExpectAsAShuffle(global);
  QualityOptions options{
      .rows = kLarge, .batch_size = 250, .files = EvenFileRuns(kLarge, kFiles)};
  ExpectAsAShuffle(MeasureQuality(options, FisherYates(kLarge, 1)));
}

TEST(OrderQuality, SeesThatSequentialIsNoShuffle) {
  OrderQuality quality = QualityOf(OrderMode::kSequential);
  EXPECT_EQ(quality.mean_displacement, 0);
  EXPECT_EQ(quality.files_per_batch, 1);
  EXPECT_DOUBLE_EQ(quality.chi_square, 9.0 * kRows);
  for (double lag : quality.lag1_correlation) EXPECT_NEAR(lag, 1, 1e-6);
}

TEST(OrderQuality, SeesThatWindowLiesBetween) {
  OrderQuality quality = QualityOf(OrderMode::kWindow);
  EXPECT_GT(quality.mean_displacement, 0.2);
  // Four ranges of one of 20 files each.
  EXPECT_GT(quality.files_per_batch, 2.5);
  EXPECT_LE(quality.files_per_batch, 4);
  EXPECT_GT(quality.chi_square, 1000);
  double lag = std::accumulate(quality.lag1_correlation.begin(),
                               quality.lag1_correlation.end(), 0.0) /
               kDeciles;
  EXPECT_GT(lag, 0.1);
  EXPECT_LT(lag, 0.9);
  // A window of all ranges is a shuffle.
  ExpectAsAShuffle(QualityOf(OrderMode::kWindow, kRows, 1000));
}

TEST(OrderQuality, HasNothingToSayAboutNoRows) {
  OrderQuality quality =
      MeasureQuality({.rows = 0}, [](uint64_t, std::span<uint64_t>) {});
  EXPECT_EQ(quality.rows_looked_at, 0U);
}

model::Object ObjectNamed(const std::string& uri) {
  model::Object object;
  object.uri = uri;
  object.identity.size = 1;
  return object;
}

// One unit of two files, cut so that a range has rows of both, with deleted rows.
TEST(FileRuns, FollowLiveRowsThroughRangesOfSeveralFiles) {
  model::ManifestBuilder builder({});
  uint32_t a = builder.AddObject(ObjectNamed("file:///a"), {.row_count = 5});
  uint32_t b = builder.AddObject(ObjectNamed("file:///b"), {.row_count = 5});
  uint32_t c = builder.AddObject(ObjectNamed("file:///c"), {.row_count = 3});
  model::LiveRows all{.row_count = 4}, some{.row_count = 4}, two{.row_count = 2};
  some.Materialize();
  some.Kill(0);  // row 4 of the unit, the last of file a
  some.Kill(2);
  builder.AddUnit({.pieces = {{a, 0, 1, 5}, {b, 0, 1, 5}},
                   .range_rows = {4, 4, 2},
                   .wide_columns = {},
                   .context = {},
                   .live = {all, some, two}});
  builder.AddUnit({.pieces = {{c, 0, 1, 3}},
                   .range_rows = {3},
                   .wide_columns = {},
                   .context = {},
                   .live = {}});
  std::string bytes = builder.Finish();
  auto manifest = model::Manifest::View(bytes, nullptr);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  std::vector<FileRun> runs = FileRuns(**manifest);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].first_row, 0U);
  EXPECT_EQ(runs[1].first_row, 4U);  // 4 of file a live
  EXPECT_EQ(runs[1].file, b);
  EXPECT_EQ(runs[2].first_row, 8U);  // 2 + 2 of file b
  EXPECT_EQ(runs[2].file, c);
}

}  // namespace
}  // namespace forebay::plan
