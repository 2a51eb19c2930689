#include "table/filter/row_groups.h"

#include <gtest/gtest.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include <optional>

#include "table/filter/bind.h"

namespace forebay::table::filter {
namespace {

using parquet::Repetition;
using parquet::schema::GroupNode;
using parquet::schema::PrimitiveNode;

constexpr int64_t kRows = 10;

// What a writer said about one column of a row group.
struct Said {
  std::optional<int64_t> null_count{};
  std::optional<int32_t> min{};
  std::optional<int32_t> max{};
};

std::string Plain(int32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

parquet::EncodedStatistics Encoded(const Said& said) {
  parquet::EncodedStatistics statistics;
  if (said.null_count) statistics.set_null_count(*said.null_count);
  if (said.min) statistics.set_min(Plain(*said.min));
  if (said.max) statistics.set_max(Plain(*said.max));
  return statistics;
}

// Metadata of a file with the int columns `top` (required where `required`), `info.inner`
// in an optional struct, and `list.element`; one row group.
struct File {
  explicit File(const Said& said, Repetition::type repetition = Repetition::OPTIONAL) {
    auto leaf = [](const char* name, Repetition::type how, int id) {
      return PrimitiveNode::Make(name, how, parquet::Type::INT32,
                                 parquet::ConvertedType::NONE, -1, -1, -1, id);
    };
    auto info = GroupNode::Make("info", Repetition::OPTIONAL,
                                {leaf("inner", repetition, 2)}, nullptr, 3);
    auto root = std::static_pointer_cast<GroupNode>(GroupNode::Make(
        "schema", Repetition::REQUIRED,
        {leaf("top", repetition, 1), info, leaf("list", Repetition::REPEATED, 4)}));
    schema.Init(root);
    auto properties = parquet::default_writer_properties();
    auto file = parquet::FileMetaDataBuilder::Make(&schema, properties);
    auto* group = file->AppendRowGroup();
    group->set_num_rows(kRows);
    for (int i = 0; i < schema.num_columns(); ++i) {
      auto* column = group->NextColumnChunk();
      column->SetStatistics(Encoded(said));
      column->Finish(kRows, 0, -1, 4, 10, 10, false, false, {}, {}, nullptr);
    }
    group->Finish(30);
    metadata = file->Finish();
  }

  Match Judge(const std::string& text) const {
    iceberg::Schema table;
    iceberg::Type integer{.id = iceberg::TypeId::kInt};
    iceberg::Field info{.id = 3, .name = "info"};
    info.type.id = iceberg::TypeId::kStruct;
    info.type.fields = {{.id = 2, .name = "inner", .type = integer}};
    table.fields = {{.id = 1, .name = "top", .type = integer}, info};
    auto filter = Bind(Filter::Parse(text).ValueOrDie(), table).ValueOrDie();
    RowGroupEvidence evidence{.metadata = metadata.get(),
                              .leaves = LeavesById(filter, schema)};
    return MatchRowGroup(filter, evidence, 0);
  }

  parquet::SchemaDescriptor schema;
  std::unique_ptr<parquet::FileMetaData> metadata;
};

TEST(RowGroups, AreNotPrunedByNullCountsThatLeaveNullStructsOut) {
  // The writer counted the nulls of the column where the struct is there: none. Rows
  // without the struct are null all the same.
  File file({.null_count = 0, .min = 1, .max = 9});
  EXPECT_EQ(file.Judge("info.inner is null"), Match::kSome);
  EXPECT_EQ(file.Judge("info.inner is not null"), Match::kSome);
  EXPECT_EQ(file.Judge("info.inner >= 1"), Match::kSome);
  EXPECT_EQ(file.Judge("info.inner > 9"), Match::kNone);
  // The leaf cannot be null, its struct can.
  File required({.null_count = 0, .min = 1, .max = 9}, Repetition::REQUIRED);
  EXPECT_EQ(required.Judge("info.inner is null"), Match::kSome);
}

TEST(RowGroups, ArePrunedByNullCountsOfTopLevelColumns) {
  File none({.null_count = 0, .min = 1, .max = 9});
  EXPECT_EQ(none.Judge("top is null"), Match::kNone);
  EXPECT_EQ(none.Judge("top is not null"), Match::kAll);
  EXPECT_EQ(none.Judge("top >= 1"), Match::kAll);
  File some({.null_count = 1, .min = 1, .max = 9});
  EXPECT_EQ(some.Judge("top is null"), Match::kSome);
  EXPECT_EQ(some.Judge("top >= 1"), Match::kSome);
  EXPECT_EQ(some.Judge("top > 9"), Match::kNone);
  File unsaid({.min = 1, .max = 9});
  EXPECT_EQ(unsaid.Judge("top is null"), Match::kSome);
  File required({.min = 1, .max = 9}, Repetition::REQUIRED);
  EXPECT_EQ(required.Judge("top is null"), Match::kNone);
}

TEST(RowGroups, OfNothingButNullsHaveNoValues) {
  File all({.null_count = kRows});
  EXPECT_EQ(all.Judge("top is null"), Match::kAll);
  EXPECT_EQ(all.Judge("top = 5"), Match::kNone);
  EXPECT_EQ(all.Judge("info.inner is null"), Match::kAll);
  File nearly_all({.null_count = kRows - 1});
  EXPECT_EQ(nearly_all.Judge("top is null"), Match::kSome);
  EXPECT_EQ(nearly_all.Judge("top = 5"), Match::kSome);
}

TEST(RowGroups, ArePrunedByBoundsThatIncludeTheirEnds) {
  File file({.null_count = 0, .min = 1, .max = 9});
  EXPECT_EQ(file.Judge("top = 9"), Match::kSome);
  EXPECT_EQ(file.Judge("top = 10"), Match::kNone);
  EXPECT_EQ(file.Judge("top = 0"), Match::kNone);
  EXPECT_EQ(file.Judge("top < 1"), Match::kNone);
  EXPECT_EQ(file.Judge("top <= 1"), Match::kSome);
  EXPECT_EQ(file.Judge("top <= 9"), Match::kAll);
  EXPECT_EQ(file.Judge("top < 9"), Match::kSome);
  EXPECT_EQ(file.Judge("top in (0, 10)"), Match::kNone);
}

TEST(RowGroups, FindLeavesByIdAndNeverARepeatedOne) {
  File file({.null_count = 0});
  iceberg::Type integer{.id = iceberg::TypeId::kInt};
  iceberg::Schema table;
  table.fields = {{.id = 4, .name = "list", .type = integer},
                  {.id = 7, .name = "top", .type = integer}};
  auto filter =
      Bind(Filter::Parse("list = 1 and top = 1").ValueOrDie(), table).ValueOrDie();
  EXPECT_EQ(LeavesById(filter, file.schema), (std::vector<int>{-1, -1}));
  EXPECT_EQ(LeavesByName(filter, file.schema), (std::vector<int>{-1, 0}));
  RowGroupEvidence wrong{.metadata = file.metadata.get(), .leaves = {2, 99}};
  EXPECT_EQ(MatchRowGroup(filter, wrong, 0), Match::kSome);
}

}  // namespace
}  // namespace forebay::table::filter
