// Which deletes apply to which rows, rule by rule.
#include "table/live/sample_scan.h"

namespace forebay::table::live {
namespace {

TEST(PositionDeletes, ApplyToFilesThatAreNotNewer) {
  SampleScan table;
  size_t old = table.AddData(1, {7, 8, 9});
  size_t same = table.AddData(2, {7, 8, 9});
  size_t later = table.AddData(3, {7, 8, 9});
  table.AddPositions(2, {{old, 0}, {same, 1}, {later, 2}, {same, 2}});
  EXPECT_EQ(table.Live(old), "011");
  EXPECT_EQ(table.Live(same), "100");
  EXPECT_EQ(table.Live(later), "111");
  EXPECT_FALSE(table.Resolver().ValueOrDie()->Touches(later));
}

TEST(PositionDeletes, OfTheSameCommitApply) {
  SampleScan table;
  size_t a = table.AddData(2, {7, 8, 9});
  table.AddPositions(2, {{a, 1}});
  EXPECT_EQ(table.Live(a), "101");
}

TEST(PositionDeletes, ApplyInTheirPartitionOnly) {
  SampleScan table;
  size_t in = table.AddData(1, {7, 8, 9}, 3);
  size_t out = table.AddData(1, {7, 8, 9}, 2);
  size_t unpartitioned = table.AddData(1, {7, 8, 9});
  table.AddPositions(2, {{in, 0}, {out, 0}, {unpartitioned, 0}}, 3);
  EXPECT_EQ(table.Live(in), "011");
  EXPECT_EQ(table.Live(out), "111");
  EXPECT_EQ(table.Live(unpartitioned), "111");
}

TEST(PositionDeletes, AReferencedFileIsTheOnlyOne) {
  SampleScan table;
  size_t a = table.AddData(1, {7, 8, 9}, 3);
  size_t b = table.AddData(1, {7, 8, 9}, 3);
  table.AddPositions(2, {{a, 0}, {b, 0}}, 3).referenced_data_file =
      table.scan.data[b].path;
  EXPECT_EQ(table.Live(a), "111");
  EXPECT_EQ(table.Live(b), "011");
}

TEST(PositionDeletes, OfManyFilesAddUp) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2, 3, 4, 5});
  for (int64_t i = 0; i < 4; ++i) table.AddPositions(2 + i, {{a, i}, {a, i}});
  EXPECT_EQ(table.Live(a), "00001");
}

TEST(PositionDeletes, ARowThatIsNotThereIsCorrupt) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2});
  table.AddPositions(2, {{a, 2}});
  EXPECT_NE(table.Live(a).find("pos-0.parquet"), std::string::npos) << table.Live(a);
  EXPECT_TRUE(table.Live(a).starts_with("corrupt")) << table.Live(a);
  table.scan.position_deletes.clear();
  table.AddPositions(2, {{a, -1}});
  EXPECT_TRUE(table.Live(a).starts_with("corrupt")) << table.Live(a);
}

TEST(PositionDeletes, AreReadFromOrcToo) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2, 3});
  auto rows = SampleScan::PositionTable({{table.scan.data[a].path, 1}});
  auto& file = table.AddPositions(2, {{a, 1}});
  file.path = table.Put("pos.orc", WriteOrc(*rows));
  file.format = iceberg::ContentFormat::kOrc;
  EXPECT_EQ(table.Live(a), "101");
}

TEST(PositionDeletes, AreReadOnceHoweverManyFilesTheyAreFor) {
  SampleScan table;
  std::vector<std::pair<size_t, int64_t>> rows;
  for (int i = 0; i < 20; ++i) rows.emplace_back(table.AddData(1, {1, 2, 3}), 1);
  table.AddPositions(2, rows);
  uint64_t before = table.source->stats().requests;
  auto resolver = table.Resolver().ValueOrDie();
  EXPECT_LE(table.source->stats().requests - before, 2u);
  before = table.source->stats().requests;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(resolver->Of(i, table.files[i]).ValueOrDie().Count(), 2u);
  }
  // Nor are the data files opened.
  EXPECT_EQ(table.source->stats().requests, before);
}

TEST(PositionDeletes, ForFilesOutsideTheScanAreNotRead) {
  SampleScan table;
  table.AddData(1, {1, 2, 3});
  auto& file = table.AddPositions(2, {{0, 1}});
  file.path = "mem://t/not-there.parquet";
  file.referenced_data_file = "mem://t/another.parquet";
  EXPECT_EQ(table.Live(0), "111");
  file.referenced_data_file.clear();
  file.lower_bounds = {{2147483546, "mem://t/e"}};
  file.upper_bounds = {{2147483546, "mem://t/f"}};
  EXPECT_EQ(table.Live(0), "111");
  file.lower_bounds = {{2147483546, "mem://t/a"}};
  EXPECT_TRUE(table.Live(0).starts_with("not found")) << table.Live(0);
}

TEST(PositionDeletes, AWrongCountIsCorrupt) {
  SampleScan table;
  table.AddData(1, {1, 2, 3});
  table.AddPositions(2, {{0, 1}}).record_count = 2;
  EXPECT_TRUE(table.Live(0).starts_with("corrupt")) << table.Live(0);
}

// A blob with one array container: length, magic, one bitmap, checksum.
std::string Blob(const std::vector<uint16_t>& positions) {
  std::string body = "\xD1\xD3\x39\x64";
  auto put = [&](auto value) {
    body.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(uint64_t{1});
  put(uint32_t{0});
  put(uint32_t{12346});  // no run containers
  put(uint32_t{1});
  put(uint16_t{0});
  put(static_cast<uint16_t>(positions.size() - 1));
  put(uint32_t{16});
  for (uint16_t position : positions) put(position);
  uint32_t crc = ~0u;
  for (char c : body) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (0xEDB88320 & -(crc & 1));
  }
  auto big = [](uint32_t value) {
    value = __builtin_bswap32(value);
    return std::string(reinterpret_cast<const char*>(&value), 4);
  };
  return big(static_cast<uint32_t>(body.size())) + body + big(~crc);
}

iceberg::DataFile VectorOf(const std::string& path, int64_t offset, int64_t size,
                           int64_t count) {
  iceberg::DataFile file;
  file.content = iceberg::FileContent::kPositionDeletes;
  file.format = iceberg::ContentFormat::kPuffin;
  file.path = "mem://t/dv.puffin";
  file.sequence_number = 5;
  file.referenced_data_file = path;
  file.content_offset = offset;
  file.content_size = size;
  file.record_count = count;
  return file;
}

TEST(DeletionVectors, ReplacePositionDeletes) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2, 3, 4});
  size_t b = table.AddData(1, {1, 2, 3, 4});
  table.AddPositions(2, {{a, 0}, {b, 0}});
  std::string first = Blob({1, 3}), second = Blob({0});
  table.Put("dv.puffin", "PFA1" + first + second);
  auto size = static_cast<int64_t>(first.size());
  table.scan.deletion_vectors = {VectorOf(table.scan.data[a].path, 4, size, 2)};
  EXPECT_EQ(table.Live(a), "1010");
  EXPECT_EQ(table.Live(b), "0111");
  // One request for the vectors of a Puffin file.
  table.scan.deletion_vectors.push_back(VectorOf(table.scan.data[b].path, 4 + size,
                                                 static_cast<int64_t>(second.size()), 1));
  table.scan.position_deletes.clear();
  uint64_t before = table.source->stats().requests;
  auto resolver = table.Resolver().ValueOrDie();
  EXPECT_LE(table.source->stats().requests - before, 2u);
  EXPECT_EQ(table.Live(a), "1010");
  EXPECT_EQ(table.Live(b), "0111");
}

TEST(DeletionVectors, AreOnePerFileOlderThanThemAndInsideTheirFile) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2, 3, 4});
  std::string blob = Blob({1});
  table.Put("dv.puffin", blob);
  auto good = VectorOf(table.scan.data[a].path, 0, static_cast<int64_t>(blob.size()), 1);
  table.scan.deletion_vectors = {good, good};
  EXPECT_TRUE(table.Live(a).starts_with("corrupt")) << table.Live(a);
  table.scan.deletion_vectors = {good};
  EXPECT_EQ(table.Live(a), "1011");
  auto wrong_count = good;
  wrong_count.record_count = 2;
  table.scan.deletion_vectors = {wrong_count};
  EXPECT_TRUE(table.Live(a).starts_with("corrupt")) << table.Live(a);
  for (auto [offset, size] : {std::pair<int64_t, int64_t>{-1, 10},
                              {0, 1 << 20},
                              {int64_t{1} << 62, int64_t{1} << 62},
                              {0, 0},
                              {1, 20}}) {
    auto outside = good;
    outside.content_offset = offset;
    outside.content_size = size;
    table.scan.deletion_vectors = {outside};
    EXPECT_TRUE(table.Live(a).starts_with("corrupt")) << table.Live(a);
  }
  auto old = good;
  old.sequence_number = 0;
  table.scan.deletion_vectors = {old};
  EXPECT_EQ(table.Live(a), "1111");
}

TEST(EqualityDeletes, ApplyToOlderFilesOnly) {
  SampleScan table;
  size_t old = table.AddData(1, {7, 8, 9});
  size_t same = table.AddData(2, {7, 8, 9});
  table.AddKeys(2, {8, 9});
  EXPECT_EQ(table.Live(old), "100");
  EXPECT_EQ(table.Live(same), "111");
  EXPECT_FALSE(table.Resolver().ValueOrDie()->Touches(same));
}

TEST(EqualityDeletes, TheNewestOfAKeyCounts) {
  SampleScan table;
  size_t a = table.AddData(3, {7, 8, 9});
  table.AddKeys(5, {8});
  table.AddKeys(2, {8, 7});
  table.AddKeys(4, {9});
  EXPECT_EQ(table.Live(a), "100");
}

TEST(EqualityDeletes, ApplyInTheirPartitionOrWithoutOneEverywhere) {
  SampleScan table;
  size_t in = table.AddData(1, {7, 8, 9}, 3);
  size_t out = table.AddData(1, {7, 8, 9}, 2);
  table.AddKeys(2, {7}, 3);
  EXPECT_EQ(table.Live(in), "011");
  EXPECT_EQ(table.Live(out), "111");
  table.AddKeys(2, {9});
  EXPECT_EQ(table.Live(in), "010");
  EXPECT_EQ(table.Live(out), "110");
  // A spec whose fields are all gone splits nothing.
  table.metadata.specs[1].fields[0].transform = iceberg::Transform::Parse("void");
  EXPECT_EQ(table.Live(out), "010");
}

TEST(EqualityDeletes, NullEqualsNull) {
  SampleScan table;
  size_t a = table.AddData(1, {7, {}, 9, {}});
  table.AddKeys(2, {9});
  EXPECT_EQ(table.Live(a), "1101");
  table.AddKeys(2, {{}});
  EXPECT_EQ(table.Live(a), "1000");
}

TEST(EqualityDeletes, ByTwoColumnsNeedBoth) {
  SampleScan table;
  size_t a = table.AddData(1, {7, 7, {}, {}});
  auto keys = arrow::Table::Make(
      arrow::schema({IdField("v", arrow::int64(), 2), IdField("k", arrow::int64(), 1),
                     IdField("other", arrow::int64(), 9)}),
      {LongArray({1, 3, 0}), LongArray({7, {}, 8}), LongArray({1, 2, 3})});
  table.AddKeyTable(2, *keys, {2, 1});
  EXPECT_EQ(table.Live(a), "1010");
}

TEST(EqualityDeletes, GoByPromotedTypes) {
  SampleScan table;
  auto ints = arrow::schema({IdField("k", arrow::int32(), 1)});
  arrow::Int32Builder old_values;
  ASSERT_TRUE(old_values.AppendValues({7, 8, -9}).ok());
  size_t a = table.AddFile(1, *arrow::Table::Make(ints, {*old_values.Finish()}));
  table.AddKeys(2, {-9});
  EXPECT_EQ(table.Live(a), "110");
  arrow::Int32Builder old_keys;
  ASSERT_TRUE(old_keys.Append(7).ok());
  table.AddKeyTable(2, *arrow::Table::Make(ints, {*old_keys.Finish()}), {1});
  EXPECT_EQ(table.Live(a), "010");
}

TEST(EqualityDeletes, GoByColumnsThatWereDroppedSince) {
  SampleScan table;
  auto with_x =
      arrow::schema({IdField("k", arrow::int64(), 1), IdField("x", arrow::utf8(), 5)});
  size_t a = table.AddFile(
      1, *arrow::Table::Make(with_x, {LongArray({1, 2, 3}), TextArray({"a", "b", "a"})}));
  size_t without = table.AddData(1, {1, 2});
  auto keys = arrow::schema({IdField("x", arrow::utf8(), 5)});
  table.AddKeyTable(2, *arrow::Table::Make(keys, {TextArray({"a"})}), {5});
  EXPECT_TRUE(table.Live(a).starts_with("corrupt")) << table.Live(a);
  iceberg::Field x = LongField(5, "x");
  x.type.id = iceberg::TypeId::kString;
  table.metadata.schemas.push_back({.id = 1, .fields = {LongField(1, "k"), x}});
  EXPECT_EQ(table.Live(a), "010");
  EXPECT_EQ(table.Live(without), "11");
  // Where a file lacks the column, its default counts.
  table.metadata.schemas[1].fields[1].initial_default = "\"a\"";
  EXPECT_EQ(table.Live(without), "00");
}

TEST(EqualityDeletes, GoByFieldsInsideStructs) {
  SampleScan table;
  auto inner = arrow::struct_({IdField("y", arrow::int64(), 6)});
  auto structs = *arrow::StructArray::Make({LongArray({1, 2, 1, {}})}, inner->fields());
  // A null struct's field is null.
  structs->data()->buffers[0] = *arrow::AllocateBitmap(4);
  structs->data()->buffers[0]->mutable_data()[0] = 0b1011;
  structs->data()->SetNullCount(1);
  auto schema = arrow::schema({IdField("s", inner, 5)});
  size_t a = table.AddFile(1, *arrow::Table::Make(schema, {structs}));
  iceberg::Field s = LongField(5, "s");
  s.type.id = iceberg::TypeId::kStruct;
  s.type.fields = {LongField(6, "y"), LongField(7, "z")};
  table.metadata.schemas[0].fields.push_back(s);
  auto key = *arrow::StructArray::Make({LongArray({2})}, inner->fields());
  table.AddKeyTable(2, *arrow::Table::Make(schema, {key}), {6});
  EXPECT_EQ(table.Live(a), "1011");
  auto null = *arrow::StructArray::Make({LongArray({{}})}, inner->fields());
  table.AddKeyTable(2, *arrow::Table::Make(schema, {null}), {6});
  EXPECT_EQ(table.Live(a), "1000");
}

TEST(EqualityDeletes, ByFloatsAreAsInSpark) {
  SampleScan table;
  table.metadata.schemas[0].fields[0].type.id = iceberg::TypeId::kDouble;
  auto schema = arrow::schema({IdField("k", arrow::float64(), 1)});
  double nan = std::numeric_limits<double>::quiet_NaN();
  auto doubles = [](std::vector<double> values) {
    arrow::DoubleBuilder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return *builder.Finish();
  };
  size_t a = table.AddFile(
      1, *arrow::Table::Make(schema, {doubles({nan, -0.0, 0.0, 1.5, -nan})}));
  table.AddKeyTable(2, *arrow::Table::Make(schema, {doubles({nan, 0.0})}), {1});
  EXPECT_EQ(table.Live(a), "01010");
}

TEST(EqualityDeletes, WithAllOtherDeletesAtOnce) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2, 3, 4, 5, 6}, {}, 2);
  table.AddPositions(2, {{a, 0}});
  table.AddKeys(3, {5});
  EXPECT_EQ(table.Live(a), "011101");
  std::string blob = Blob({5});
  table.Put("dv.puffin", blob);
  table.scan.deletion_vectors = {
      VectorOf(table.scan.data[a].path, 0, static_cast<int64_t>(blob.size()), 1)};
  EXPECT_EQ(table.Live(a), "111100");
}

TEST(EqualityDeletes, ADataFileWithOtherRowsThanCountedIsCorrupt) {
  SampleScan table;
  size_t a = table.AddData(1, {1, 2, 3});
  table.AddKeys(3, {1});
  table.scan.data[a].record_count = 4;
  std::string live = table.Live(a);
  EXPECT_TRUE(live.starts_with("corrupt")) << live;
  EXPECT_NE(live.find("data-0.parquet"), std::string::npos) << live;
}

}  // namespace
}  // namespace forebay::table::live
