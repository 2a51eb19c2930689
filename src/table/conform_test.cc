// Every type, through every format that can hold it. IPC must give what was written;
// Parquet and ORC what Arrow's own whole-file reader gives.
#include "table/conform.h"

#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/json/from_string.h>
#include <parquet/arrow/reader.h>

#include "base/size.h"
#include "table/files/claimed_bytes.h"
#include "table/sample_tables.h"

namespace forebay::table {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using ArrayPtr = std::shared_ptr<arrow::Array>;

struct Case {
  TypePtr type;
  std::string json;
  TypePtr plain;  // nullptr: the same
};

const char* kInts = "[1, null, 3, 100, 0, null]";
const char* kTexts =
    R"(["", null, "ü", "a much longer text than twelve bytes", "x", "x"])";

TypePtr Item(const TypePtr& type) { return arrow::list(type); }

std::vector<Case> ScalarCases() {
  std::vector<Case> cases;
  for (const TypePtr& type :
       {arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64(), arrow::uint8(),
        arrow::uint16(), arrow::uint32(), arrow::uint64(), arrow::float16(),
        arrow::float32(), arrow::float64(), arrow::date32()}) {
    cases.push_back({type, kInts, nullptr});
  }
  for (auto unit : {arrow::TimeUnit::SECOND, arrow::TimeUnit::MILLI,
                    arrow::TimeUnit::MICRO, arrow::TimeUnit::NANO}) {
    bool small = unit <= arrow::TimeUnit::MILLI;
    cases.push_back({arrow::timestamp(unit), kInts, nullptr});
    cases.push_back({arrow::timestamp(unit, "Europe/Berlin"), kInts, nullptr});
    cases.push_back({arrow::duration(unit), kInts, nullptr});
    cases.push_back({small ? arrow::time32(unit) : arrow::time64(unit), kInts, nullptr});
  }
  cases.push_back({arrow::date64(), "[86400000, null, 0, -86400000]", nullptr});
  cases.push_back({arrow::null(), "[null, null, null]", nullptr});
  cases.push_back({arrow::boolean(), "[true, null, false, true]", nullptr});
  for (const TypePtr& type :
       {arrow::utf8(), arrow::large_utf8(), arrow::binary(), arrow::large_binary()}) {
    cases.push_back({type, kTexts, nullptr});
  }
  cases.push_back({arrow::fixed_size_binary(3), R"(["abc", null, "xyz"])", nullptr});
  for (const TypePtr& type : {arrow::decimal32(7, 2), arrow::decimal64(15, 2),
                              arrow::decimal128(30, 2), arrow::decimal256(60, 2)}) {
    cases.push_back({type, R"(["1.25", null, "-12345.67"])", nullptr});
  }
  return cases;
}

std::vector<Case> NestedCases() {
  auto point = arrow::struct_(
      {arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  return {
      {arrow::list(arrow::int32()), "[[1, null], null, [], [2, 3, 4]]", nullptr},
      {arrow::large_list(arrow::utf8()), R"([["x"], null, [], [null, "yy"]])", nullptr},
      {arrow::fixed_size_list(arrow::float32(), 2), "[[1, 2], [3, 4], [5, 6]]", nullptr},
      {point, R"([{"a": 1, "b": "x"}, null, {"a": null, "b": ""}])", nullptr},
      {arrow::list(point), R"([[{"a": 1, "b": "x"}], null, [], [null]])", nullptr},
      {arrow::list(arrow::list(arrow::int64())), "[[[1], []], null, [null, [2, 3]]]",
       nullptr},
      {arrow::map(arrow::utf8(), arrow::int32()),
       R"([[["k", 1], ["l", null]], null, []])", nullptr},
      {arrow::struct_({arrow::field("deep", arrow::map(arrow::utf8(), Item(point)))}),
       R"([{"deep": [["k", [{"a": 5, "b": null}]]]}, null])", nullptr}};
}

// Kept plain in chunks, whatever they were in the file.
std::vector<Case> DecodedCases() {
  auto coded = arrow::dictionary(arrow::int8(), arrow::utf8());
  return {
      {coded, kTexts, arrow::utf8()},
      {arrow::dictionary(arrow::int32(), arrow::int64()), kInts, arrow::int64()},
      {arrow::list(coded), R"([["x", null], null, ["x", "y"]])", Item(arrow::utf8())},
      {arrow::struct_({arrow::field("d", coded)}), R"([{"d": "x"}, null, {"d": null}])",
       arrow::struct_({arrow::field("d", arrow::utf8())})}};
}

std::vector<Case> IpcOnlyCases() {
  return {{arrow::utf8_view(), kTexts, arrow::utf8()},
          {arrow::binary_view(), kTexts, arrow::binary()},
          {arrow::list(arrow::utf8_view()), R"([["x", null], null, ["yy"]])",
           Item(arrow::utf8())},
          {arrow::list_view(arrow::int32()), "[[1, null], null, [], [2]]",
           Item(arrow::int32())},
          {arrow::large_list_view(arrow::int32()), "[[1, null], null, [], [2]]",
           arrow::large_list(arrow::int32())},
          {arrow::month_interval(), kInts, nullptr},
          {arrow::day_time_interval(), "[[1, 100], null, [2, 0]]", nullptr},
          {arrow::month_day_nano_interval(), "[[1, 2, 3], null, [0, 0, 0]]", nullptr}};
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = ScalarCases();
  for (auto& more : {NestedCases(), DecodedCases(), IpcOnlyCases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

ArrayPtr FromJson(const TypePtr& type, const std::string& json) {
  auto array = arrow::json::ArrayFromJSONString(type, json);
  EXPECT_TRUE(array.ok()) << type->ToString() << array.status().ToString();
  return *array;
}

// The case's values over and over, so that ranges begin at odd rows and offsets.
TablePtr Repeated(const TypePtr& type, const std::string& json, int times) {
  arrow::ArrayVector parts(times, FromJson(type, json));
  auto column = arrow::Concatenate(parts);
  EXPECT_TRUE(column.ok()) << type->ToString() << column.status().ToString();
  return arrow::Table::Make(arrow::schema({arrow::field("c", type)}), {*column});
}

TablePtr Plain(const TablePtr& table) {
  static const bool ready = arrow::compute::Initialize().ok();
  EXPECT_TRUE(ready);
  auto type = *PlainType(table->schema()->field(0)->type());
  arrow::Datum column = table->column(0);
  if (!type->Equals(*table->schema()->field(0)->type())) {
    column = *arrow::compute::Cast(column, type);
  }
  return *arrow::Table::Make(arrow::schema({arrow::field("c", type)}),
                             {column.chunked_array()})
              ->CombineChunks();
}

// Types in chunks are nullable throughout; compare values in the same dress.
void ExpectSameValues(const TablePtr& got, const TablePtr& wanted, const Case& c) {
  ASSERT_EQ(got->num_rows(), wanted->num_rows()) << c.type->ToString();
  auto chunk_type = got->schema()->field(0)->type();
  EXPECT_EQ(chunk_type->ToString(), wanted->schema()->field(0)->type()->ToString())
      << c.type->ToString();
  EXPECT_TRUE(got->column(0)->Equals(*wanted->column(0)))
      << c.type->ToString() << "\n"
      << got->column(0)->ToString() << "\n"
      << wanted->column(0)->ToString();
}

void ExpectIpc(const Case& c, const IpcShape& shape) {
  auto table = Repeated(c.type, c.json, 50);
  auto wanted = Repeated(c.plain ? c.plain : c.type, c.json, 50);
  Sample sample;
  sample.plan.range_bytes = 256;
  sample.Put(shape.is_stream ? "a.arrows" : "a.arrow", WriteIpc(*table, shape));
  auto got = sample.Read();
  ASSERT_TRUE(got.ok()) << c.type->ToString() << " " << got.status();
  ExpectSameValues(*got, wanted, c);
}

TEST(Conform, BringsIpcTypesBackAsTheyWereWritten) {
  for (const Case& c : AllCases()) {
    ExpectIpc(c, {.is_stream = false, .batch_rows = 37});
    ExpectIpc(c, {.is_stream = true, .batch_rows = 41});
    ExpectIpc(c, {.batch_rows = 23, .compression = arrow::Compression::ZSTD});
  }
}

// Arrow cannot join row groups where dictionaries are nested.
TablePtr ReadByRowGroup(parquet::arrow::FileReader& reader) {
  std::vector<TablePtr> parts;
  for (int i = 0; i < reader.num_row_groups(); ++i)
    parts.push_back(*reader.ReadRowGroup(i));
  return *arrow::ConcatenateTables(parts);
}

TEST(Conform, BringsParquetTypesBackAsArrowReadsThem) {
  int read = 0;
  for (const Case& c : AllCases()) {
    auto table = Repeated(c.type, c.json, 50);
    auto sink = *arrow::io::BufferOutputStream::Create();
    auto arrow_properties =
        parquet::ArrowWriterProperties::Builder().store_schema()->build();
    if (!parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, 40,
                                    parquet::default_writer_properties(),
                                    arrow_properties)
             .ok()) {
      continue;
    }
    std::string bytes = ToText(*sink->Finish());
    auto reader = *parquet::arrow::OpenFile(
        std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes)),
        arrow::default_memory_pool());
    auto wanted = ReadByRowGroup(*reader);
    Sample sample;
    sample.plan.range_bytes = 256;
    sample.Put("a.parquet", bytes);
    auto got = sample.Read();
    ASSERT_TRUE(got.ok()) << c.type->ToString() << " " << got.status();
    ExpectSameValues(*got, Plain(wanted), c);
    ++read;
  }
  EXPECT_GT(read, 45);
}

TEST(Conform, BringsOrcTypesBackAsArrowReadsThem) {
  int read = 0;
  for (const Case& c : AllCases()) {
    auto table = Repeated(c.type, c.json, 50);
    auto sink = *arrow::io::BufferOutputStream::Create();
    auto writer = *arrow::adapters::orc::ORCFileWriter::Open(sink.get());
    if (!writer->Write(*table).ok() || !writer->Close().ok()) continue;
    std::string bytes = ToText(*sink->Finish());
    auto file =
        std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes));
    auto reader =
        *arrow::adapters::orc::ORCFileReader::Open(file, arrow::default_memory_pool());
    auto wanted = *reader->Read();
    Sample sample;
    sample.plan.range_bytes = 256;
    sample.Put("a.orc", bytes);
    auto got = sample.Read();
    ASSERT_TRUE(got.ok()) << c.type->ToString() << " " << got.status();
    ExpectSameValues(*got, Plain(wanted), c);
    ++read;
  }
  EXPECT_GT(read, 15);
}

TEST(Conform, DecodesRunEnds) {
  ASSERT_TRUE(arrow::compute::Initialize().ok());
  auto plain = Repeated(arrow::utf8(), R"(["a", "a", null, null, "b"])", 30);
  auto encoded = *arrow::compute::RunEndEncode(
      plain->column(0)->chunk(0), arrow::compute::RunEndEncodeOptions(arrow::int32()));
  auto array = encoded.make_array();
  auto table =
      arrow::Table::Make(arrow::schema({arrow::field("c", array->type())}), {array});
  Sample sample;
  sample.plan.range_bytes = 128;
  sample.Put("a.arrow", WriteIpc(*table, {.batch_rows = 13}));
  auto got = sample.Read();
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectSameRows(*got, plain);
}

TEST(Conform, FailsOnAnUnsupportedColumnOnlyWhenItIsRead) {
  auto type = arrow::dense_union({arrow::field("i", arrow::int32())});
  auto column = FromJson(type, "[[0, 1], [0, 2]]");
  auto table = arrow::Table::Make(
      arrow::schema({arrow::field("u", type), arrow::field("id", arrow::int64())}),
      {column, Int64s(0, 2)});
  Sample sample;
  sample.Put("a.arrow", WriteIpc(*table));
  auto manifest = sample.Plan();
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_TRUE((*manifest)->schema().fields[0].format.starts_with("?dense_union"));
  auto good = sample.Read({"id"});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ((*good)->num_rows(), 2);
  auto bad = sample.Read();
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(bad.status().message().find("'u'"), std::string::npos) << bad.status();
}

TEST(Conform, GivesAnExtensionsStorageAndKeepsItsName) {
  auto metadata = arrow::key_value_metadata({"ARROW:extension:name"}, {"acme.money"});
  auto table = arrow::Table::Make(
      arrow::schema({arrow::field("m", arrow::int64(), true, metadata)}), {Int64s(0, 3)});
  Sample sample;
  sample.Put("a.arrow", WriteIpc(*table));
  auto manifest = *sample.Plan();
  const model::Field& field = manifest->schema().fields[0];
  EXPECT_EQ(field.format, "l");
  ASSERT_EQ(field.metadata.size(), 1u);
  EXPECT_EQ(field.metadata[0].second, "acme.money");
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> Conformed(const TypePtr& from,
                                                           const std::string& json,
                                                           const TypePtr& to) {
  ARROW_ASSIGN_OR_RAISE(auto array, arrow::json::ArrayFromJSONString(from, json));
  return Conform(array->data(), to, arrow::default_memory_pool(), nullptr);
}

TEST(Conform, TakesNoListOfAnotherLengthForOneOfThis) {
  auto four = arrow::fixed_size_list(arrow::int32(), 4);
  auto two = arrow::fixed_size_list(arrow::int32(), 2);
  EXPECT_TRUE(Conformed(two, "[[1, 2], [3, 4]]", two).ok());
  EXPECT_TRUE(Conformed(two, "[[1, 2], [3, 4]]", four).status().IsInvalid());
  EXPECT_TRUE(Conformed(four, "[[1, 2, 3, 4]]", two).status().IsInvalid());
}

TEST(Conform, LosesNoValues) {
  // A struct with two fields of one name does not say which of them is meant.
  auto twice = arrow::struct_(
      {arrow::field("a", arrow::int32()), arrow::field("a", arrow::int32())});
  auto once = arrow::struct_({arrow::field("a", arrow::int32())});
  auto array =
      arrow::StructArray::Make(
          arrow::ArrayVector{*arrow::json::ArrayFromJSONString(arrow::int32(), "[1]"),
                             *arrow::json::ArrayFromJSONString(arrow::int32(), "[2]")},
          twice->fields())
          .ValueOrDie();
  EXPECT_TRUE(Conform(array->data(), once, arrow::default_memory_pool(), nullptr)
                  .status()
                  .IsInvalid());
  EXPECT_FALSE(Conformed(arrow::int32(), "[1]", arrow::null()).ok());
  EXPECT_TRUE(Conformed(arrow::null(), "[null]", arrow::int32()).ok());
}

TEST(ClaimedBytes, NeverWrapAround) {
  EXPECT_EQ(ClaimedBytes(10, 33), 42u);
  EXPECT_EQ(ClaimedBytes(8, 1), 1u);
  EXPECT_EQ(ClaimedBytes(9, 1), 2u);
  EXPECT_EQ(ClaimedBytes(0, 64), 0u);
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  EXPECT_GE(ClaimedBytes(kHuge, 32), uint64_t{1} << 46);
  EXPECT_EQ(ClaimedProduct(kHuge, 8), kClaimedBytesMax);
  EXPECT_EQ(ClaimedProduct(3, 5), 15u);
  // Three levels of lists that claim 2^31 values each.
  auto type = arrow::int64();
  for (int i = 0; i < 3; ++i) type = arrow::fixed_size_list(type, INT32_MAX);
  EXPECT_GE(*FixedBits(*type), uint64_t{1} << 49);
}

}  // namespace
}  // namespace forebay::table
