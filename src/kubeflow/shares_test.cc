#include "kubeflow/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace forebay::kubeflow {
namespace {

using flight::RowInterval;

// One unit for each number of rows.
std::shared_ptr<const model::Manifest> TableOf(const std::vector<uint32_t>& unit_rows) {
  model::Schema schema;
  schema.fields.emplace_back();
  schema.fields[0].name = "id";
  schema.fields[0].format = "l";
  model::ManifestBuilder builder(
      {.version = HashBytes("v"), .origin = "file:///x", .schema = schema});
  model::Object file;
  file.uri = "file:///x";
  uint64_t rows = std::accumulate(unit_rows.begin(), unit_rows.end(), uint64_t{0});
  uint32_t object = builder.AddObject(file, {.row_count = rows});
  for (uint32_t i = 0; i < unit_rows.size(); ++i) {
    builder.AddUnit({.pieces = {{.object = object,
                                 .first_group = i,
                                 .group_count = 1,
                                 .row_count = unit_rows[i]}},
                     .range_rows = {unit_rows[i]},
                     .wide_columns = {},
                     .context = {}});
  }
  auto bytes = std::make_shared<const std::string>(builder.Finish());
  return model::Manifest::View(*bytes, bytes).ValueOrDie();
}

// Who owns a unit of the table, by the unit's number.
std::function<uint32_t(const Hash128&)> ByUnit(const model::Manifest& manifest,
                                               std::vector<uint32_t> owners) {
  return [&manifest, owners](const Hash128& content) {
    auto found =
        std::ranges::find(manifest.units(), content, &model::UnitRecord::content);
    return owners[static_cast<size_t>(found - manifest.units().begin())];
  };
}

TEST(RowsOf, GivesEveryRowToOneShareAndSizesThatDifferByOne) {
  for (uint64_t rows : {0, 1, 7, 100, 1009}) {
    for (uint64_t total : {1, 2, 3, 7, 64, 1000, 1014}) {
      uint64_t next = 0;
      for (uint64_t index = 0; index < total; ++index) {
        RowInterval share = RowsOf({index, total}, rows);
        ASSERT_EQ(share.first, next);
        next = share.end();
        ASSERT_GE(share.count, rows / total);
        ASSERT_LE(share.count, (rows + total - 1) / total);
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(RowsOf, TakesTheLargestNumbers) {
  uint64_t most = ~uint64_t{0};
  EXPECT_EQ(RowsOf({most - 1, most}, most), (RowInterval{most - 1, 1}));
  EXPECT_EQ(RowsOf({most - 1, most}, 5).count, 1U);
}

TEST(ParseShare, TakesTwoNumbersAndNothingElse) {
  EXPECT_EQ(ParseShare({"3", "7"})->index, 3U);
  EXPECT_EQ(ParseShare({"3", "7"})->total, 7U);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                {"0"},
                                                {"0", "1", "2"},
                                                {"1", "1"},
                                                {"0", "0"},
                                                {"-1", "2"},
                                                {"0", "x"},
                                                {"", "2"},
                                                {"0", "1 "},
                                                {"0", "18446744073709551616"}}) {
    EXPECT_EQ(ParseShare(wrong).status().code(), StatusCode::kInvalid);
  }
}

TEST(CutByOwner, MergesNeighboursAndKeepsOneListForEachOwner) {
  auto table = TableOf({10, 10, 10, 10});
  auto cut = CutByOwner(*table, {5, 30}, ByUnit(*table, {1, 1, 0, 1}));
  ASSERT_EQ(cut.size(), 2U);
  EXPECT_EQ(cut[0].owner, 1U);
  EXPECT_THAT(cut[0].intervals,
              ::testing::ElementsAre(RowInterval{5, 15}, RowInterval{30, 5}));
  EXPECT_EQ(cut[1].owner, 0U);
  EXPECT_THAT(cut[1].intervals, ::testing::ElementsAre(RowInterval{20, 10}));
}

TEST(CutByOwner, OfNoRowsIsNothing) {
  auto table = TableOf({10});
  EXPECT_TRUE(CutByOwner(*table, {3, 0}, ByUnit(*table, {0})).empty());
  EXPECT_TRUE(CutByOwner(*table, {10, 0}, ByUnit(*table, {0})).empty());
  auto empty = TableOf({});
  EXPECT_TRUE(CutByOwner(*empty, {0, 0}, ByUnit(*empty, {})).empty());
}

TEST(CutByOwner, OfOneRowNamesItsUnit) {
  auto table = TableOf({1, 1, 1});
  auto cut = CutByOwner(*table, {1, 1}, ByUnit(*table, {4, 5, 6}));
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].owner, 5U);
  EXPECT_THAT(cut[0].intervals, ::testing::ElementsAre(RowInterval{1, 1}));
}

TEST(CutByOwner, KeepsListsShortEnoughForATicket) {
  size_t units = 4 * flight::kIntervalsMax + 6;
  auto table = TableOf(std::vector<uint32_t>(units, 1));
  std::vector<uint32_t> owners(units);
  for (size_t i = 0; i < units; ++i) owners[i] = i % 2;
  auto cut = CutByOwner(*table, {0, units}, [&, i = size_t{0}](const Hash128&) mutable {
    return owners[i++];
  });
  ASSERT_EQ(cut.size(), 6U);
  uint64_t rows = 0;
  for (const OwnedRows& part : cut) {
    EXPECT_LE(part.intervals.size(), flight::kIntervalsMax);
    for (const RowInterval& interval : part.intervals) rows += interval.count;
  }
  EXPECT_EQ(rows, units);
}

}  // namespace
}  // namespace forebay::kubeflow
