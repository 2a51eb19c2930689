#include "table/live/equality_index.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <random>
#include <set>

namespace forebay::table::live {
namespace {

std::shared_ptr<arrow::RecordBatch> Batch(const arrow::ArrayVector& columns) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < columns.size(); ++i) {
    fields.push_back(arrow::field("id" + std::to_string(i + 1), columns[i]->type()));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), columns[0]->length(), columns);
}

std::vector<ChunkPath> Paths(size_t count) {
  std::vector<ChunkPath> paths;
  for (size_t i = 1; i <= count; ++i) paths.push_back({"id" + std::to_string(i)});
  return paths;
}

std::shared_ptr<arrow::Array> RandomLongs(std::mt19937_64& random, int64_t count,
                                          int64_t limit, bool nulls) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < count; ++i) {
    bool null = nulls && random() % 20 == 0;
    auto value = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
    EXPECT_TRUE((null ? builder.AppendNull() : builder.Append(value - limit / 2)).ok());
  }
  return *builder.Finish();
}

std::shared_ptr<arrow::Array> AsText(const arrow::Array& longs) {
  arrow::StringBuilder builder;
  const auto& values = static_cast<const arrow::Int64Array&>(longs);
  for (int64_t i = 0; i < values.length(); ++i) {
    bool null = values.IsNull(i);
    EXPECT_TRUE((null ? builder.AppendNull()
                      : builder.Append("key " + std::to_string(values.Value(i))))
                    .ok());
  }
  return *builder.Finish();
}

using Key = std::vector<std::string>;

Key KeyOf(const arrow::RecordBatch& batch, int64_t row) {
  Key key;
  for (const auto& column : batch.columns()) {
    key.push_back((*column->GetScalar(row))->ToString());
  }
  return key;
}

// Against a map, with several columns, types, nulls and commits.
void CompareWithMap(uint64_t seed, int shape) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << " shape " << shape);
  std::mt19937_64 random(seed);
  auto make = [&](int64_t count) {
    arrow::ArrayVector columns = {RandomLongs(random, count, 300, shape != 0)};
    if (shape == 1) columns[0] = AsText(*columns[0]);
    if (shape == 2) columns.push_back(AsText(*RandomLongs(random, count, 3, true)));
    return Batch(columns);
  };
  size_t width = shape == 2 ? 2 : 1;
  EqualityIndex index;
  std::map<Key, int64_t> wanted;
  for (int64_t commit : {3, 1, 2}) {
    auto deletes = make(150);
    index.Add(KeyColumns::Make(*deletes, Paths(width)).ValueOrDie(), commit);
    for (int64_t i = 0; i < deletes->num_rows(); ++i) {
      int64_t& newest = wanted[KeyOf(*deletes, i)];
      newest = std::max(newest, commit);
    }
  }
  index.Seal();
  auto data = make(3000);
  auto keys = KeyColumns::Make(*data, Paths(width)).ValueOrDie();
  for (int64_t sequence : {0, 1, 2, 3}) {
    model::LiveRows live{.row_count = 3005};
    live.Materialize();
    index.Kill(keys, sequence, 5, &live);
    for (int64_t i = 0; i < data->num_rows(); ++i) {
      auto found = wanted.find(KeyOf(*data, i));
      bool dead = found != wanted.end() && found->second > sequence;
      ASSERT_EQ(live.Alive(5 + static_cast<uint64_t>(i)), !dead) << i << " " << sequence;
    }
    EXPECT_TRUE(live.Alive(0) && live.Alive(4));
  }
}

TEST(EqualityIndex, SaysWhatAMapWouldSay) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (int shape = 0; shape < 3; ++shape) CompareWithMap(seed, shape);
  }
}

TEST(EqualityIndex, WithoutKeysKillsNothing) {
  EqualityIndex index;
  index.Seal();
  EXPECT_FALSE(index.Applies(0));
  std::mt19937_64 random(1);
  auto data = Batch({RandomLongs(random, 10, 3, true)});
  model::LiveRows live{.row_count = 10};
  live.Materialize();
  index.Kill(KeyColumns::Make(*data, Paths(1)).ValueOrDie(), 0, 0, &live);
  EXPECT_EQ(live.Count(), 10u);
}

TEST(EqualityIndex, DoesNotMixUpColumnsOfOneKey) {
  auto text = [](std::vector<std::string> values) {
    arrow::StringBuilder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return *builder.Finish();
  };
  EqualityIndex index;
  auto deletes = Batch({text({"ab"}), text({"c"})});
  index.Add(KeyColumns::Make(*deletes, Paths(2)).ValueOrDie(), 1);
  index.Seal();
  auto data = Batch({text({"a", "ab", "c"}), text({"bc", "c", "ab"})});
  model::LiveRows live{.row_count = 3};
  live.Materialize();
  index.Kill(KeyColumns::Make(*data, Paths(2)).ValueOrDie(), 0, 0, &live);
  EXPECT_EQ(live.words[0], 0b101u);
}

TEST(EqualityIndex, TellsKeysOfOneHashApart) {
  auto longs = [](std::vector<int64_t> values) {
    arrow::Int64Builder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return *builder.Finish();
  };
  auto firsts = longs({1, 2});
  uint64_t hashes[2];
  KeyColumns::Make(*Batch({firsts}), Paths(1)).ValueOrDie().Hash(0, 2, hashes);
  // Second columns that make up for the difference of the first ones.
  auto difference = static_cast<int64_t>((hashes[0] - hashes[1]) * 0x9E3779B97F4A7C15);
  auto data = Batch({firsts, longs({5, 5 + difference})});
  auto keys = KeyColumns::Make(*data, Paths(2)).ValueOrDie();
  keys.Hash(0, 2, hashes);
  ASSERT_EQ(hashes[0], hashes[1]);
  EqualityIndex index;
  index.Add(KeyColumns::Make(*data->Slice(0, 1), Paths(2)).ValueOrDie(), 1);
  index.Seal();
  model::LiveRows live{.row_count = 2};
  live.Materialize();
  index.Kill(keys, 0, 0, &live);
  EXPECT_EQ(live.words[0], 0b10u);
}

TEST(EqualityIndex, AFieldOfANullStructIsNull) {
  arrow::Int64Builder values;
  ASSERT_TRUE(values.AppendValues({7, 7}).ok());
  auto structs = *arrow::StructArray::Make({*values.Finish()},
                                           {arrow::field("id2", arrow::int64())});
  structs->data()->buffers[0] = *arrow::AllocateBitmap(2);
  structs->data()->buffers[0]->mutable_data()[0] = 0b01;
  structs->data()->SetNullCount(1);
  auto keys =
      KeyColumns::Make(*Batch({arrow::MakeArray(structs->data())}), {{"id1", "id2"}})
          .ValueOrDie();
  EXPECT_FALSE(keys.HasNull(0));
  EXPECT_TRUE(keys.HasNull(1));
}

// Prints what a probe costs; bounds it loosely, since machines differ.
TEST(EqualityIndex, ProbesInNanoseconds) {
  std::mt19937_64 random(7);
  constexpr int64_t kKeys = 500'000, kRows = 2'000'000;
  EqualityIndex index;
  auto deletes = Batch({RandomLongs(random, kKeys, int64_t{1} << 40, false)});
  index.Add(KeyColumns::Make(*deletes, Paths(1)).ValueOrDie(), 2);
  index.Seal();
  auto data = Batch({RandomLongs(random, kRows, int64_t{1} << 40, false)});
  auto keys = KeyColumns::Make(*data, Paths(1)).ValueOrDie();
  model::LiveRows live{.row_count = kRows};
  live.Materialize();
  auto start = std::chrono::steady_clock::now();
  index.Kill(keys, 1, 0, &live);
  double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
          .count();
  std::cout << "one probe of " << kKeys << " keys: " << ns / kRows << " ns\n";
  EXPECT_LT(ns / kRows, 200);
}

}  // namespace
}  // namespace forebay::table::live
