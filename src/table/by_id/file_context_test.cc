#include "table/by_id/file_context.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "table/by_id/metadata_columns.h"

namespace forebay::table::by_id {
namespace {

using iceberg::TypeId;
using iceberg::Value;

TEST(FileContext, SurvivesTheManifest) {
  FileContext context{.path = "s3://b/ä.parquet",
                      .spec_id = 3,
                      .sequence_number = 9,
                      .first_row_id = int64_t{1} << 40,
                      .constants = {{1, Value(std::monostate())},
                                    {2, Value(true)},
                                    {3, Value(int64_t{-7})},
                                    {4, Value(1.5)},
                                    {5, Value(-(static_cast<iceberg::Int128>(1) << 100))},
                                    {6, Value(std::string("x\0y", 3))}}};
  std::string bytes = context.Encode();
  auto back = FileContext::Decode(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, context);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(FileContext::Decode(bytes.substr(0, size)).ok()) << size;
  }
}

iceberg::TableMetadata Table() {
  iceberg::TableMetadata metadata;
  iceberg::Field day{
      .id = 1, .name = "day", .required = false, .type = {}, .initial_default = {}};
  day.type.id = TypeId::kDate;
  iceberg::Field city = day;
  city.id = 2;
  city.name = "city";
  city.type.id = TypeId::kString;
  metadata.schemas = {{.id = 0, .fields = {day, city}}};
  metadata.specs = {{.id = 4,
                     .fields = {{.source_id = 2,
                                 .field_id = 1000,
                                 .name = "city",
                                 .transform = iceberg::Transform::Parse("identity")},
                                {.source_id = 1,
                                 .field_id = 1001,
                                 .name = "m",
                                 .transform = iceberg::Transform::Parse("month")},
                                {.source_id = 1,
                                 .field_id = 1002,
                                 .name = "day",
                                 .transform = iceberg::Transform::Parse("identity")}}}};
  return metadata;
}

TEST(FileContext, IdentityPartitionsAreConstants) {
  auto metadata = Table();
  iceberg::DataFile file;
  file.path = "p";
  file.spec_id = 4;
  file.sequence_number = 5;
  file.partition = {Value(std::string("Ulm")), Value(int64_t{600}),
                    Value(int64_t{18000})};
  auto context = ContextOf(metadata, metadata.schemas[0], file);
  ASSERT_TRUE(context.ok()) << context.status();
  std::vector<std::pair<int32_t, Value>> wanted = {{2, Value(std::string("Ulm"))},
                                                   {1, Value(int64_t{18000})}};
  EXPECT_EQ(context->constants, wanted);
  // Days are no timestamps.
  iceberg::Schema promoted = metadata.schemas[0];
  promoted.fields[0].type.id = TypeId::kTimestamp;
  context = ContextOf(metadata, promoted, file);
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(context->constants.size(), 1u);
}

TEST(FileContext, APartitionThatTheTableDoesNotKnowIsCorrupt) {
  auto metadata = Table();
  iceberg::DataFile file;
  file.path = "bad.parquet";
  file.spec_id = 5;
  auto context = ContextOf(metadata, metadata.schemas[0], file);
  EXPECT_EQ(context.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(context.status().message().find("bad.parquet"), std::string::npos);
  file.spec_id = 4;
  file.partition = {Value(int64_t{1})};
  EXPECT_EQ(ContextOf(metadata, metadata.schemas[0], file).status().code(),
            StatusCode::kCorrupt);
}

std::vector<std::optional<int64_t>> Longs(MetadataColumn column,
                                          const FileContext& context,
                                          const MetadataRows& rows) {
  auto data = MakeMetadataColumn(column, context, rows, arrow::default_memory_pool());
  EXPECT_TRUE(data.ok());
  arrow::Int64Array array(*data);
  std::vector<std::optional<int64_t>> out;
  for (int64_t i = 0; i < array.length(); ++i) {
    out.push_back(array.IsNull(i) ? std::nullopt : std::optional(array.Value(i)));
  }
  return out;
}

TEST(MetadataColumns, RowsKeepWhatTheirFileSaysAndInheritTheRest) {
  FileContext context;
  context.sequence_number = 8;
  context.first_row_id = 1000;
  arrow::Int64Builder own;
  ASSERT_TRUE(own.Append(5).ok() && own.AppendNull().ok());
  MetadataRows rows{.first = 10, .count = 2, .own = (*own.Finish())->data()};
  using Values = std::vector<std::optional<int64_t>>;
  EXPECT_EQ(Longs(MetadataColumn::kRowId, context, rows), (Values{5, 1011}));
  EXPECT_EQ(Longs(MetadataColumn::kLastUpdatedSequenceNumber, context, rows),
            (Values{5, 8}));
  rows.own = nullptr;
  EXPECT_EQ(Longs(MetadataColumn::kRowId, context, rows), (Values{1010, 1011}));
  EXPECT_EQ(Longs(MetadataColumn::kPosition, context, rows), (Values{10, 11}));
  // A table from before row lineage.
  context.first_row_id.reset();
  EXPECT_EQ(Longs(MetadataColumn::kRowId, context, rows), (Values{{}, {}}));
  EXPECT_EQ(Longs(MetadataColumn::kLastUpdatedSequenceNumber, context, rows),
            (Values{{}, {}}));
}

}  // namespace
}  // namespace forebay::table::by_id
