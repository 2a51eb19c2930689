#include "model/selection.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay::model {
namespace {

LiveRows Random(std::mt19937_64& random, uint32_t stored, double alive) {
  LiveRows live{.row_count = stored};
  live.Materialize();
  std::bernoulli_distribution dead(1 - alive);
  for (uint32_t row = 0; row < stored; ++row) {
    if (dead(random)) live.Kill(row);
  }
  return live;
}

struct Case {
  std::vector<uint64_t> words;
  uint64_t offset = 0;
  Selection::Shape shape;
  std::vector<uint32_t> rows;
  Selection selection;
};

Case MakeCase(const LiveRows& live) {
  Case c;
  c.words = {7, 7};  // a selection before it
  Selection::Appended at = Selection::Append(live, &c.words);
  for (uint32_t row = 0; row < live.row_count; ++row) {
    if (live.Alive(row)) c.rows.push_back(row);
  }
  c.offset = at.offset;
  c.shape = {at.kind, static_cast<uint32_t>(c.rows.size()),
             static_cast<uint32_t>(live.row_count)};
  c.selection = Selection(c.words.data() + at.offset, c.shape);
  return c;
}

TEST(Selection, FindsEveryLiveRowHoweverManyDied) {
  std::mt19937_64 random(5);
  for (double alive : {0.0, 0.001, 0.05, 0.07, 0.5, 0.9, 0.999}) {
    for (uint32_t stored : {1U, 63U, 64U, 65U, 1000U, 20011U}) {
      Case c = MakeCase(Random(random, stored, alive));
      if (c.rows.size() == stored) continue;  // such a range has no selection
      ASSERT_EQ(c.words.size() - c.offset, Selection::WordCount(c.shape));
      ASSERT_TRUE(c.selection.Consistent()) << alive << " of " << stored;
      for (uint32_t i = 0; i < c.rows.size(); ++i) {
        ASSERT_EQ(c.selection.RowOf(i), c.rows[i]) << alive << " of " << stored;
      }
    }
  }
}

TEST(Selection, FindsRowsOfManyRanges) {
  std::mt19937_64 random(11);
  std::vector<Case> cases;
  for (double alive : {0.01, 0.1, 0.5, 0.9, 0.99}) {
    for (uint32_t stored : {70U, 640U, 5003U}) {
      cases.push_back(MakeCase(Random(random, stored, alive)));
    }
  }
  std::vector<Selection> selections;
  for (const Case& c : cases) selections.push_back(c.selection);
  selections.emplace_back(100U);  // all of it lives
  std::vector<RangeRow> rows, expected;
  for (int i = 0; i < 20'000; ++i) {
    auto source = static_cast<uint32_t>(random() % selections.size());
    uint32_t live = selections[source].live_rows();
    if (live == 0) continue;
    auto row = static_cast<uint32_t>(random() % live);
    rows.push_back({source, row});
    expected.push_back({source, source < cases.size() ? cases[source].rows[row] : row});
  }
  for (RangeRow& row : rows) {
    selections[row.source].PrefetchRow(row.row);
    selections[row.source].PrefetchWord(row.row);
    row.row = selections[row.source].RowOf(row.row);
  }
  EXPECT_EQ(rows, expected);
}

TEST(Selection, RunsEndAtDeadRowsAndAtTheLimit) {
  std::mt19937_64 random(6);
  for (double alive : {0.03, 0.3, 0.6, 0.98}) {
    Case c = MakeCase(Random(random, 5000, alive));
    for (uint32_t i = 0; i < c.rows.size(); ++i) {
      uint32_t run = 1;
      while (i + run < c.rows.size() && c.rows[i + run] == c.rows[i] + run) ++run;
      ASSERT_EQ(c.selection.RunAt(i, 1U << 30), run);
      ASSERT_EQ(c.selection.RunAt(i, 3), std::min(run, 3U));
    }
  }
}

TEST(Selection, OfAllRowsIsOneRun) {
  Selection all(100);
  EXPECT_EQ(all.RowOf(99), 99U);
  EXPECT_EQ(all.RunAt(10, 1000), 90U);
}

TEST(Selection, NoticesForgedWords) {
  std::mt19937_64 random(7);
  for (double alive : {0.02, 0.3, 0.8}) {
    Case c = MakeCase(Random(random, 900, alive));
    for (size_t bit = 0; bit < (c.words.size() - c.offset) * 64; bit += 5) {
      std::vector<uint64_t> words(c.words.begin() + static_cast<int64_t>(c.offset),
                                  c.words.end());
      words[bit / 64] ^= uint64_t{1} << (bit % 64);
      Selection forged(words.data(), c.shape);
      if (!forged.Consistent()) continue;
      for (uint32_t i = 0; i < forged.live_rows(); ++i) {
        ASSERT_LT(forged.RowOf(i), forged.stored_rows());
      }
    }
  }
}

TEST(LiveRows, AppendsAfterAnyNumberOfRows) {
  std::mt19937_64 random(9);
  LiveRows whole;
  std::vector<bool> expected;
  for (int part = 0; part < 60; ++part) {
    auto rows = static_cast<uint32_t>(random() % 150);
    LiveRows next =
        part % 3 == 0 ? LiveRows{.row_count = rows} : Random(random, rows, 0.6);
    for (uint64_t i = 0; i < rows; ++i) expected.push_back(next.Alive(i));
    whole.Append(next);
  }
  ASSERT_EQ(whole.row_count, expected.size());
  for (uint64_t i = 0; i < expected.size(); ++i) ASSERT_EQ(whole.Alive(i), expected[i]);
}

TEST(LiveRows, SlicesAnywhere) {
  std::mt19937_64 random(8);
  LiveRows live = Random(random, 500, 0.7);
  for (uint64_t first : {0, 1, 63, 64, 130, 499}) {
    for (uint64_t count : {0, 1, 64, 65, 300}) {
      if (first + count > 500) continue;
      LiveRows part = live.Slice(first, count);
      uint64_t alive = 0;
      for (uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(part.Alive(i), live.Alive(first + i));
        alive += live.Alive(first + i) ? 1 : 0;
      }
      ASSERT_EQ(part.Count(), alive);
    }
  }
}

}  // namespace
}  // namespace forebay::model
