#include "reader/gather.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "reader/column_text.h"
#include "reader/random_chunk.h"

namespace forebay::reader {
namespace {

struct Table {
  model::Field field;
  std::vector<ChunkColumn> columns;
  std::vector<const ChunkColumn*> sources;

  std::string Text(RowAddress row) const {
    return ValueText(SliceChunk(field, columns[row.source], row.row, 1, nullptr), 0);
  }
};

Table MakeTable(RandomChunks* random, model::Field field) {
  Table table;
  table.field = std::move(field);
  for (uint64_t i = 0, n = random->Below(6) + 1; i < n; ++i) {
    table.columns.push_back(random->Make(table.field, random->Below(90)));
  }
  table.columns.push_back(random->Make(table.field, 7));  // never all empty
  for (const ChunkColumn& column : table.columns) table.sources.push_back(&column);
  return table;
}

// Single rows, repeats, and runs of followers in one list.
std::vector<RowAddress> RandomRows(RandomChunks* random, const Table& table) {
  std::vector<RowAddress> rows;
  uint64_t count = random->Below(400), run_max = random->Below(2) * random->Below(30) + 1;
  while (rows.size() < count) {
    auto source = static_cast<uint32_t>(random->Below(table.columns.size()));
    uint64_t length = table.columns[source].length;
    if (length == 0) continue;
    auto first = static_cast<uint32_t>(random->Below(length));
    uint64_t end = std::min(length, first + random->Below(run_max) + 1);
    for (uint64_t row = first; row < end; ++row) {
      rows.push_back({source, static_cast<uint32_t>(row)});
    }
  }
  return rows;
}

// What Arrow demands of an array, beyond the values themselves.
void ExpectWellFormed(const Column& column) {
  uint64_t nulls = 0;
  for (uint64_t i = 0; i < column.length; ++i) nulls += column.IsNull(i);
  EXPECT_EQ(column.null_count, nulls);
  EXPECT_TRUE(column.writable);
  EXPECT_TRUE(column.owner != nullptr);
  if (HasOffsets(column.type.layout)) {
    EXPECT_EQ(OffsetOf(column, 0), 0U);
    uint64_t last = OffsetOf(column, column.length);
    EXPECT_EQ(last, column.children.empty() ? column.buffers[2].size
                                            : column.children[0].length);
  }
  for (const Column& child : column.children) ExpectWellFormed(child);
}

void ExpectGathers(const Table& table, std::span<const RowAddress> rows,
                   const std::shared_ptr<BufferPool>& pool) {
  auto gatherer = ColumnGatherer::Make(table.field, pool);
  ASSERT_TRUE(gatherer.ok()) << gatherer.status();
  auto column = gatherer->Gather(table.sources, rows);
  ASSERT_TRUE(column.ok()) << column.status();
  ASSERT_EQ(column->length, rows.size());
  ExpectWellFormed(*column);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(ValueText(*column, i), table.Text(rows[i])) << "row " << i;
  }
}

TEST(ColumnGatherer, GivesTheRowsOfRandomNestedTypes) {
  auto pool = BufferPool::Make();
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomChunks random(seed);
    Table table = MakeTable(&random, random.Field(static_cast<int>(seed % 4)));
    SCOPED_TRACE(model::TypeName(table.field));
    ExpectGathers(table, RandomRows(&random, table), pool);
    if (testing::Test::HasFailure()) return;
  }
}

// Rows by way of a few parts, as when not all chunks can be at hand at once.
TEST(ColumnGatherer, GathersWhatWasGatheredBefore) {
  auto pool = BufferPool::Make();
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomChunks random(seed);
    Table table = MakeTable(&random, random.Field(static_cast<int>(seed % 4)));
    SCOPED_TRACE(model::TypeName(table.field));
    auto gatherer = ColumnGatherer::Make(table.field, pool);
    ASSERT_TRUE(gatherer.ok()) << gatherer.status();
    std::vector<RowAddress> rows = RandomRows(&random, table);
    std::vector<std::vector<RowAddress>> of_part(3);
    std::vector<RowAddress> places;
    for (const RowAddress& row : rows) {
      auto part = static_cast<uint32_t>(random.Below(of_part.size()));
      places.push_back({part, static_cast<uint32_t>(of_part[part].size())});
      of_part[part].push_back(row);
    }
    std::vector<Column> parts;
    for (const auto& part : of_part) {
      parts.push_back(gatherer->Gather(table.sources, part).ValueOrDie());
    }
    std::vector<ChunkColumn> sources;
    for (const Column& part : parts) sources.push_back(AsSource(part));
    std::vector<const ChunkColumn*> pointers;
    for (const ChunkColumn& source : sources) pointers.push_back(&source);
    auto joined = gatherer->Gather(pointers, places);
    ASSERT_TRUE(joined.ok()) << joined.status();
    ExpectWellFormed(*joined);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(ValueText(*joined, i), table.Text(rows[i])) << "row " << i;
    }
  }
}

TEST(ColumnGatherer, GivesTheRowsOfEveryFlatType) {
  auto pool = BufferPool::Make();
  uint64_t seed = 7000;
  for (const char* format :
       {"n",      "b",          "c",   "C",    "s",     "S",      "i",        "I",
        "l",      "L",          "e",   "f",    "g",     "z",      "Z",        "u",
        "U",      "w:1",        "w:7", "w:32", "w:100", "w:5000", "d:9,2,32", "d:9,2,64",
        "d:38,2", "d:76,2,256", "tdD", "tdm",  "tts",   "ttu",    "tss:",     "tsn:UTC",
        "tDm",    "tiM",        "tiD", "tin"}) {
    SCOPED_TRACE(testing::Message() << format << " seed " << ++seed);
    RandomChunks random(seed);
    Table table = MakeTable(&random, MakeField("c", format));
    ExpectGathers(table, RandomRows(&random, table), pool);
    ExpectGathers(table, {}, pool);
  }
}

TEST(ColumnGatherer, LeavesSourcesThatNoRowNamesAlone) {
  RandomChunks random(3);
  Table table = MakeTable(&random, random.Field(2));
  auto last = static_cast<uint32_t>(table.columns.size() - 1);
  for (uint32_t i = 0; i < last; ++i) table.sources[i] = nullptr;
  ExpectGathers(table, std::vector<RowAddress>{{last, 3}, {last, 1}}, BufferPool::Make());
}

TEST(ColumnGatherer, FillsWithZerosAndEmptyValues) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomChunks random(seed);
    Table table = MakeTable(&random, random.Field(3));
    auto filler = MakeFiller(table.field);
    ASSERT_TRUE(filler.ok()) << filler.status();
    table.sources.push_back(filler->get());
    auto at = static_cast<uint32_t>(table.sources.size() - 1);
    std::vector<RowAddress> rows = RandomRows(&random, table);
    size_t real = rows.size();
    rows.resize(real + 5, {at, 0});
    auto gatherer = ColumnGatherer::Make(table.field, BufferPool::Make());
    auto column = gatherer->Gather(table.sources, rows);
    ASSERT_TRUE(column.ok()) << column.status();
    for (size_t i = real; i < rows.size(); ++i) {
      std::string text = ValueText(*column, i);
      EXPECT_EQ(text.find_first_of("123456789abcdef"), std::string::npos) << text;
      bool null_type = table.field.format == "n";
      EXPECT_EQ(column->IsNull(i), null_type);
    }
  }
}

TEST(ColumnGatherer, NamesTheColumnWhose32BitOffsetsWouldOverflow) {
  // One row of 1 GiB, three times. The bytes are never touched: it fails before copying.
  static constexpr int32_t kOffsets[] = {0, 1 << 30};
  auto bytes = std::make_unique_for_overwrite<uint8_t[]>(1 << 30);
  ChunkColumn source;
  source.type = {Layout::kBinary32, 0};
  source.length = 1;
  source.offsets = reinterpret_cast<const uint8_t*>(kOffsets);
  source.values = bytes.get();
  source.values_size = 1 << 30;
  model::Field field = MakeField("blob", "z");
  auto gatherer = ColumnGatherer::Make(field, BufferPool::Make());
  const ChunkColumn* sources[] = {&source};
  std::vector<RowAddress> rows(3);
  Status status = gatherer->Gather(sources, rows).status();
  EXPECT_EQ(status.code(), StatusCode::kFull);
  EXPECT_NE(status.message().find("\"blob\""), std::string::npos);
  EXPECT_NE(status.message().find("smaller batches"), std::string::npos);
}

TEST(ColumnGatherer, RefusesOffsetsThatMakeNoSense) {
  for (std::vector<int32_t> offsets :
       {std::vector<int32_t>{0, 9, 4, 12}, std::vector<int32_t>{0, -4, 4, 12},
        std::vector<int32_t>{0, 4, 1000, 12}}) {
    uint8_t bytes[12] = {};
    ChunkColumn source;
    source.type = {Layout::kBinary32, 0};
    source.length = 3;
    source.offsets = reinterpret_cast<const uint8_t*>(offsets.data());
    source.values = bytes;
    source.values_size = sizeof(bytes);
    model::Field field = MakeField("s", "u");
    auto gatherer = ColumnGatherer::Make(field, BufferPool::Make());
    const ChunkColumn* sources[] = {&source};
    std::vector<RowAddress> shuffled{{0, 2}, {0, 1}, {0, 0}, {0, 2}};
    std::vector<RowAddress> run{{0, 0}, {0, 1}, {0, 2}, {0, 0}, {0, 1},
                                {0, 2}, {0, 0}, {0, 1}, {0, 2}};
    EXPECT_EQ(gatherer->Gather(sources, shuffled).status().code(), StatusCode::kCorrupt);
    EXPECT_EQ(gatherer->Gather(sources, run).status().code(), StatusCode::kCorrupt);
  }
}

TEST(ColumnGatherer, RefusesTypesThatChunksNeverHave) {
  model::Field field = MakeField("u", "+l", {MakeField("item", "+us:0,1")});
  Status status = ColumnGatherer::Make(field, BufferPool::Make()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
}

TEST(Column, SlicesOfSlicesAreTheSameRows) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomChunks random(seed);
    model::Field field = random.Field(3);
    ChunkColumn chunk = random.Make(field, 60);
    Column whole = SliceChunk(field, chunk, 0, 60, nullptr);
    uint64_t first = random.Below(40), count = random.Below(20);
    Column slice = whole.Slice(first, 20).Slice(0, count);
    uint64_t nulls = 0;
    for (uint64_t i = 0; i < count; ++i) {
      EXPECT_EQ(ValueText(slice, i), ValueText(whole, first + i));
      nulls += slice.IsNull(i);
    }
    EXPECT_EQ(CountNulls(slice), nulls);
    EXPECT_FALSE(slice.writable);
  }
}

TEST(RowLocator, FindsEveryRowOfUnevenRanges) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomChunks random(seed);
    std::vector<model::RangeRecord> ranges;
    std::vector<RowAddress> expected;
    uint64_t count = random.Below(200) + 1, huge = random.Below(count);
    for (uint32_t i = 0; i < count; ++i) {
      auto rows = static_cast<uint32_t>(i == huge ? 5000 : random.Below(seed % 7));
      ranges.push_back({.first_row = expected.size(),
                        .offset = 0,
                        .selection = 0,
                        .row_count = rows,
                        .stored_rows = rows,
                        .unit = 0,
                        .selection_kind = model::SelectionKind::kAll});
      for (uint32_t row = 0; row < rows; ++row) expected.push_back({i, row});
    }
    RowLocator locator(ranges);
    ASSERT_EQ(locator.row_count(), expected.size());
    std::vector<uint64_t> rows(expected.size());
    for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
    std::vector<RowAddress> found(rows.size());
    locator.Locate(rows, found);
    ASSERT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(RowLocator, HasNoRowsWithoutRanges) {
  EXPECT_EQ(RowLocator(std::span<const model::RangeRecord>()).row_count(), 0U);
}

}  // namespace
}  // namespace forebay::reader
