// Data files read by field id, from a manifest alone.
#include "table/iceberg_columns.h"

#include "table/by_id/metadata_columns.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

using iceberg::TypeId;
using iceberg::Value;

iceberg::Type Primitive(const std::string& text) {
  return iceberg::ParsePrimitive(text).ValueOrDie();
}
iceberg::Field F(int32_t id, const std::string& name, iceberg::Type type) {
  return {.id = id,
          .name = name,
          .required = false,
          .type = std::move(type),
          .initial_default = {}};
}
iceberg::Field F(int32_t id, const std::string& name, const std::string& type) {
  return F(id, name, Primitive(type));
}
iceberg::Field WithDefault(iceberg::Field field, const std::string& json) {
  field.initial_default = json;
  return field;
}
iceberg::Type Nested(TypeId id, std::vector<iceberg::Field> fields) {
  iceberg::Type type;
  type.id = id;
  type.fields = std::move(fields);
  return type;
}

std::shared_ptr<arrow::Field> P(const std::string& name,
                                std::shared_ptr<arrow::DataType> type, int id,
                                const std::string& key = "PARQUET:field_id") {
  return arrow::field(name, std::move(type), true,
                      arrow::key_value_metadata({key}, {std::to_string(id)}));
}

std::shared_ptr<arrow::Scalar> ParseScalar(const std::shared_ptr<arrow::DataType>& type,
                                           const std::string& text) {
  if (text == "null") return arrow::MakeNullScalar(type);
  if (type->id() == arrow::Type::DECIMAL128) {
    return std::make_shared<arrow::Decimal128Scalar>(*arrow::Decimal128::FromString(text),
                                                     type);
  }
  return *arrow::Scalar::Parse(type, text);
}

// Values with a space between them.
std::shared_ptr<arrow::Array> Values(const std::shared_ptr<arrow::DataType>& type,
                                     const std::string& text) {
  auto builder = *arrow::MakeBuilder(type);
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find(' ', start), text.size());
    auto scalar = ParseScalar(type, text.substr(start, end - start));
    EXPECT_TRUE(builder->AppendScalar(*scalar).ok());
    start = end + 1;
  }
  return *builder->Finish();
}

// One data file, read through a manifest as a node would.
struct OneFile {
  iceberg::Schema schema;
  std::string name_mapping;
  by_id::FileContext context{.path = "s3://bucket/data/file"};
  model::FileFormat format = model::FileFormat::kParquet;
  std::string bytes;
  std::vector<uint64_t> group_rows;

  Result<TablePtr> Read(const std::vector<std::string>& columns = {}) const {
    Sample sample;
    model::Object object = sample.source->Put("mem://t/file", bytes);
    FB_ASSIGN_OR_RETURN(auto table_schema, ManifestSchema(schema, name_mapping));
    model::ManifestBuilder builder({.version = {}, .origin = "", .schema = table_schema});
    uint64_t rows = 0;
    for (uint64_t count : group_rows) rows += count;
    builder.AddObject(object,
                      {.row_count = rows, .format = format, .context = context.Encode()});
    for (uint32_t i = 0; i < group_rows.size(); ++i) {
      builder.AddUnit({.pieces = {{0, i, 1, group_rows[i]}},
                       .range_rows = {static_cast<uint32_t>(group_rows[i])},
                       .wide_columns = {},
                       .context = ""});
    }
    auto owner = std::make_shared<std::string>(builder.Finish());
    FB_ASSIGN_OR_RETURN(auto manifest, model::Manifest::View(*owner, owner));
    FB_ASSIGN_OR_RETURN(auto projection, model::Project(table_schema, columns));
    std::vector<BatchPtr> all;
    for (uint32_t unit = 0; unit < group_rows.size(); ++unit) {
      FB_ASSIGN_OR_RETURN(auto batches, sample.ReadUnit(manifest, unit, projection));
      all.insert(all.end(), batches.begin(), batches.end());
    }
    FB_ASSIGN_OR_RETURN(auto chunk_schema, ChunkSchema(table_schema, projection));
    return *(*arrow::Table::FromRecordBatches(chunk_schema, all))->CombineChunks();
  }
};

OneFile ParquetOf(const std::shared_ptr<arrow::Schema>& schema,
                  const arrow::ArrayVector& columns, int64_t group_rows = 1 << 20) {
  auto table = arrow::Table::Make(schema, columns);
  OneFile file;
  file.bytes = WriteParquet(*table, group_rows, false);
  for (int64_t row = 0; row < table->num_rows(); row += group_rows) {
    file.group_rows.push_back(std::min<int64_t>(group_rows, table->num_rows() - row));
  }
  return file;
}

std::string Text(const TablePtr& table, const std::string& name) {
  auto column = table->GetColumnByName(name);
  if (column == nullptr) return "no " + name;
  std::string out;
  for (int64_t i = 0; i < column->length(); ++i) {
    out += (i == 0 ? "" : " ") + (*column->GetScalar(i))->ToString();
  }
  return out;
}

TEST(ManifestSchema, GivesEveryTypeItsArrowFormat) {
  iceberg::Schema schema;
  std::vector<std::pair<std::string, std::string>> types = {{"boolean", "b"},
                                                            {"int", "i"},
                                                            {"long", "l"},
                                                            {"float", "f"},
                                                            {"double", "g"},
                                                            {"decimal(9,2)", "d:9,2"},
                                                            {"date", "tdD"},
                                                            {"time", "ttu"},
                                                            {"timestamp", "tsu:"},
                                                            {"timestamptz", "tsu:UTC"},
                                                            {"timestamp_ns", "tsn:"},
                                                            {"timestamptz_ns", "tsn:UTC"},
                                                            {"string", "u"},
                                                            {"uuid", "w:16"},
                                                            {"fixed[5]", "w:5"},
                                                            {"binary", "z"},
                                                            {"variant", "?variant"},
                                                            {"unknown", "n"}};
  for (const auto& [type, format] : types) {
    schema.fields.push_back(F(int32_t(schema.fields.size()) + 1, type, type));
  }
  schema.fields.push_back(
      F(50, "m", Nested(TypeId::kMap, {F(51, "key", "string"), F(52, "value", "long")})));
  auto made = ManifestSchema(schema, "[]");
  ASSERT_TRUE(made.ok()) << made.status();
  for (size_t i = 0; i < types.size(); ++i) {
    EXPECT_EQ(made->fields[i].format, types[i].second) << types[i].first;
    EXPECT_EQ(made->fields[i].ChunkName(), "id" + std::to_string(i + 1));
  }
  const model::Field& map = made->fields[types.size()];
  EXPECT_EQ(map.children[0].children[1].ChunkName(), "id52");
  EXPECT_EQ(made->fields.size(), schema.fields.size() + by_id::kMetadataFields.size());
  EXPECT_TRUE(made->fields.back().hidden);
  EXPECT_EQ(model::Project(*made, {}).ValueOrDie().size(), schema.fields.size());
  auto all = ChunkSchema(*made, model::Project(*made, {"m", "uuid"}).ValueOrDie());
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ((*all)->field(0)->name(), "id14");
  EXPECT_EQ((*all)->field(1)->name(), "id50");
  auto variant = ChunkSchema(*made, model::Project(*made, {"variant"}).ValueOrDie());
  EXPECT_EQ(variant.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(variant.status().message().find("'variant'"), std::string::npos);
}

TEST(ManifestSchema, AColumnMayHaveTheNameOfAMetadataColumn) {
  iceberg::Schema schema{.id = 0, .fields = {F(1, "_pos", "string")}};
  auto made = ManifestSchema(schema, "").ValueOrDie();
  EXPECT_EQ(made.Find("_pos"), 0u);
  EXPECT_EQ(made.fields.size(), by_id::kMetadataFields.size());
}

TEST(ReadingById, RenamesReordersAddsAndDrops) {
  OneFile file =
      ParquetOf(arrow::schema({P("a", arrow::int32(), 1), P("b", arrow::utf8(), 2),
                               P("c", arrow::float64(), 3)}),
                {Values(arrow::int32(), "1 2"), Values(arrow::utf8(), "x y"),
                 Values(arrow::float64(), "0.5 1.5")});
  file.schema.fields = {F(3, "measurement", "double"), F(2, "name", "string"),
                        F(4, "a", "int")};
  auto table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Text(*table, "id3"), "0.5 1.5");
  EXPECT_EQ(Text(*table, "id2"), "x y");
  EXPECT_EQ(Text(*table, "id4"), "null null");
}

TEST(ReadingById, PromotesTypes) {
  OneFile file = ParquetOf(
      arrow::schema({P("i", arrow::int32(), 1), P("f", arrow::float32(), 2),
                     P("d", arrow::decimal128(9, 2), 3), P("day", arrow::date32(), 4),
                     P("day2", arrow::date32(), 5)}),
      {Values(arrow::int32(), "-5 null"), Values(arrow::float32(), "0.25 null"),
       Values(arrow::decimal128(9, 2), "1.25 null"),
       Values(arrow::date32(), "1969-12-31 null"),
       Values(arrow::date32(), "2020-01-02 null")});
  file.schema.fields = {F(1, "i", "long"), F(2, "f", "double"),
                        F(3, "d", "decimal(30,2)"), F(4, "day", "timestamp"),
                        F(5, "day2", "timestamp_ns")};
  auto table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Text(*table, "id1"), "-5 null");
  EXPECT_EQ(Text(*table, "id2"), "0.25 null");
  EXPECT_EQ(Text(*table, "id3"), "1.25 null");
  EXPECT_EQ(Text(*table, "id4"), "1969-12-31 00:00:00.000000 null");
  EXPECT_EQ(Text(*table, "id5"), "2020-01-02 00:00:00.000000000 null");
}

TEST(ReadingById, ADateOutsideNanosecondsFails) {
  OneFile file = ParquetOf(arrow::schema({P("day", arrow::date32(), 1)}),
                           {Values(arrow::date32(), "9999-01-01")});
  file.schema.fields = {F(1, "day", "timestamp_ns")};
  EXPECT_FALSE(file.Read().ok());
}

TEST(ReadingById, CutsFinerTimestampsDownwards) {
  auto ns = arrow::timestamp(arrow::TimeUnit::NANO);
  arrow::TimestampBuilder values(ns, arrow::default_memory_pool());
  ASSERT_TRUE(values.AppendValues(std::vector<int64_t>{1999, -1, 0}).ok());
  OneFile file = ParquetOf(arrow::schema({P("t", ns, 1)}), {*values.Finish()});
  file.schema.fields = {F(1, "t", "timestamptz")};
  auto table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  auto cut =
      std::static_pointer_cast<arrow::TimestampArray>((*table)->column(0)->chunk(0));
  EXPECT_EQ(cut->Value(0), 1);
  EXPECT_EQ(cut->Value(1), -1);
  EXPECT_EQ(cut->Value(2), 0);
}

TEST(ReadingById, Int96TimestampsReachBeyondNanoseconds) {
  auto us = arrow::timestamp(arrow::TimeUnit::MICRO);
  auto far = Values(us, "3021-05-06T07:08:09 0987-01-02T03:04:05 null");
  auto table = arrow::Table::Make(arrow::schema({P("t", us, 1)}), {far});
  auto sink = *arrow::io::BufferOutputStream::Create();
  auto properties = parquet::ArrowWriterProperties::Builder()
                        .enable_deprecated_int96_timestamps()
                        ->build();
  ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, 100,
                                         parquet::default_writer_properties(), properties)
                  .ok());
  OneFile file;
  file.bytes = ToText(*sink->Finish());
  file.group_rows = {3};
  file.schema.fields = {F(1, "t", "timestamptz")};
  auto got = file.Read();
  ASSERT_TRUE(got.ok()) << got.status();
  auto values = (*got)->column(0)->chunk(0)->data()->Copy();
  values->type = us;
  EXPECT_TRUE(arrow::MakeArray(values)->Equals(*far)) << (*got)->ToString();
}

TEST(ReadingById, MissingColumnsTakePartitionThenDefaultThenNull) {
  OneFile file =
      ParquetOf(arrow::schema({P("a", arrow::int32(), 1), P("p", arrow::utf8(), 2)}),
                {Values(arrow::int32(), "1 2"), Values(arrow::utf8(), "file file")});
  file.schema.fields = {
      F(1, "a", "int"),
      F(2, "p", "string"),
      WithDefault(F(3, "q", "long"), "7"),
      WithDefault(F(4, "d", "decimal(9,2)"), "\"14.20\""),
      WithDefault(F(5, "u", "uuid"), "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""),
      F(6, "n", "string"),
      WithDefault(F(7, "a2", "int"), "1")};
  // As in Spark, a partition's value counts even where the file has the column.
  file.context.constants = {{2, Value(std::string("folder"))}, {3, Value(int64_t{9})}};
  auto table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Text(*table, "id1"), "1 2");
  EXPECT_EQ(Text(*table, "id2"), "folder folder");
  EXPECT_EQ(Text(*table, "id3"), "9 9");
  EXPECT_EQ(Text(*table, "id4"), "14.20 14.20");
  EXPECT_EQ(Text(*table, "id6"), "null null");
  auto uuid = std::static_pointer_cast<arrow::FixedSizeBinaryArray>(
      (*table)->GetColumnByName("id5")->chunk(0));
  EXPECT_EQ(uuid->GetView(1).substr(0, 2), "\xF7\x9C");
  EXPECT_EQ(Text(*table, "id7"), "1 1");
}

TEST(ReadingById, StructsGetDefaultsInsideAndOnlyThenOnesOfTheirOwn) {
  auto inner = arrow::struct_({P("x", arrow::int32(), 11)});
  auto structs = *arrow::StructArray::Make({Values(arrow::int32(), "3 null 5")},
                                           inner->fields(), *arrow::AllocateBitmap(1), 1);
  // The second struct is null.
  structs->data()->buffers[0]->mutable_data()[0] = 0b101;
  OneFile file = ParquetOf(arrow::schema({P("s", inner, 1)}), {structs});
  auto point = [](int32_t x, int32_t y) {
    return Nested(TypeId::kStruct, {
                                       WithDefault(F(x, "x", "int"), "0"),
                                       WithDefault(F(y, "y", "int"), "8"),
                                   });
  };
  file.schema.fields = {F(1, "s", point(11, 12)),
                        WithDefault(F(2, "t", point(21, 22)), "{}"),
                        F(3, "u", point(31, 32))};
  auto table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Text(*table, "id1"),
            "{id11:int32 = 3, id12:int32 = 8} null {id11:int32 = 5, id12:int32 = 8}");
  EXPECT_EQ(Text(*table, "id2").substr(0, 32), "{id21:int32 = 0, id22:int32 = 8}");
  EXPECT_EQ(Text(*table, "id3"), "null null null");
}

TEST(ReadingById, FilesWithoutIdsGoByTheMappingOrTheirPlace) {
  OneFile file = ParquetOf(arrow::schema({arrow::field("old", arrow::int32()),
                                          arrow::field("b", arrow::utf8())}),
                           {Values(arrow::int32(), "1 2"), Values(arrow::utf8(), "x y")});
  file.schema.fields = {F(2, "first", "int"), F(1, "b", "string")};
  file.name_mapping =
      R"([{"field-id": 2, "names": ["old", "first"]}, {"field-id": 1, "names": ["b"]}])";
  auto table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Text(*table, "id2"), "1 2");
  EXPECT_EQ(Text(*table, "id1"), "x y");
  file.name_mapping.clear();
  file.schema.fields = {F(2, "b", "string"), F(1, "a", "int")};
  table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Text(*table, "id1"), "1 2");
  EXPECT_EQ(Text(*table, "id2"), "x y");
  file.name_mapping = "no mapping";
  EXPECT_EQ(file.Read().status().code(), StatusCode::kInvalid);
}

TEST(ReadingById, MetadataColumnsCountOverRowGroups) {
  OneFile file = ParquetOf(arrow::schema({P("a", arrow::int32(), 1),
                                          P("_row_id", arrow::int64(), 2147483540)}),
                           {Values(arrow::int32(), "1 2 3 4 5"),
                            Values(arrow::int64(), "null null 77 null null")},
                           2);
  ASSERT_EQ(file.group_rows.size(), 3u);
  file.schema.fields = {F(1, "a", "int")};
  file.context.first_row_id = 100;
  file.context.sequence_number = 4;
  file.context.spec_id = 6;
  auto table = file.Read(
      {"a", "_row_id", "_last_updated_sequence_number", "_file", "_pos", "_spec_id"});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(Text(*table, "id2147483540"), "100 101 77 103 104");
  EXPECT_EQ(Text(*table, "id2147483539"), "4 4 4 4 4");
  EXPECT_EQ(Text(*table, "id2147483645"), "0 1 2 3 4");
  EXPECT_EQ(Text(*table, "id2147483643"), "6 6 6 6 6");
  EXPECT_EQ(Text(*table, "id2147483646").substr(0, 21), "s3://bucket/data/file");
  // Without the columns of the file, nothing of it is read.
  table = file.Read({"_pos"});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(Text(*table, "id2147483645"), "0 1 2 3 4");
}

TEST(ReadingById, OrcKeepsItsIdsInAttributesAndLacksSomeTypes) {
  auto table = arrow::Table::Make(
      arrow::schema({P("t", arrow::int64(), 1, "iceberg.id"),
                     P("u", arrow::binary(), 2, "iceberg.id"),
                     P("ts", arrow::timestamp(arrow::TimeUnit::NANO), 3, "iceberg.id")}),
      {Values(arrow::int64(), "1000000"), Values(arrow::binary(), "0123456789abcdef"),
       Values(arrow::timestamp(arrow::TimeUnit::NANO), "2020-01-01T00:00:00.000001")});
  OneFile file;
  file.format = model::FileFormat::kOrc;
  file.bytes = WriteOrc(*table);
  file.group_rows = {1};
  file.schema.fields = {F(1, "time", "time"), F(2, "id", "uuid"),
                        F(3, "ts", "timestamp")};
  auto got = file.Read();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(Text(*got, "id1"), "00:00:01.000000");
  EXPECT_EQ((*got)->column(1)->type()->ToString(), "fixed_size_binary[16]");
  EXPECT_EQ((*got)->column(1)->null_count(), 0);
  EXPECT_EQ(Text(*got, "id3"), "2020-01-01 00:00:00.000001");
  file.schema.fields = {F(2, "id", "fixed[4]")};
  EXPECT_EQ(file.Read().status().code(), StatusCode::kCorrupt);
}

TEST(ReadingById, AnUnknownColumnIsNullWhateverTheFileHas) {
  OneFile file = ParquetOf(arrow::schema({P("a", arrow::int32(), 1)}),
                           {Values(arrow::int32(), "1 2")});
  file.schema.fields = {F(1, "a", "unknown"), F(2, "b", "unknown")};
  auto table = file.Read();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->column(0)->null_count(), 2);
  EXPECT_EQ((*table)->column(1)->null_count(), 2);
}

}  // namespace
}  // namespace forebay::table
