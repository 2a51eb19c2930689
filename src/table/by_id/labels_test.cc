#include "table/by_id/labels.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace forebay::table::by_id {
namespace {

std::shared_ptr<arrow::Field> WithId(const std::string& name,
                                     std::shared_ptr<arrow::DataType> type, int id,
                                     const std::string& key = "PARQUET:field_id") {
  return arrow::field(name, std::move(type), true,
                      arrow::key_value_metadata({key}, {std::to_string(id)}));
}

TEST(Labels, NamesEveryDepthByItsId) {
  auto point =
      arrow::struct_({WithId("x", arrow::int32(), 5),
                      WithId("y", arrow::list(WithId("element", arrow::utf8(), 7)), 6)});
  auto map = std::make_shared<arrow::MapType>(
      WithId("key", arrow::utf8(), 9)->WithNullable(false), WithId("value", point, 10));
  auto labels = LabelByIds(
      *arrow::schema({WithId("b", point, 3), WithId("m", map, 8, "iceberg.id")}));
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ((*labels)->field(0)->ToString(),
            "id3: struct<id5: int32, id6: list<id7: string>>");
  const auto& made = static_cast<const arrow::MapType&>(*(*labels)->field(1)->type());
  EXPECT_EQ((*labels)->field(1)->name(), "id8");
  EXPECT_EQ(made.key_field()->name(), "id9");
  EXPECT_EQ(made.item_field()->name(), "id10");
  EXPECT_EQ(made.item_type()->field(0)->name(), "id5");
}

TEST(Labels, AFieldWithoutIdIsNotTakenForOneByItsName) {
  auto labels = LabelByIds(*arrow::schema(
      {WithId("a", arrow::int32(), 1), arrow::field("id2", arrow::int32())}));
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ((*labels)->GetFieldIndex("id1"), 0);
  EXPECT_EQ((*labels)->GetFieldIndex("id2"), -1);
}

TEST(Labels, TwoFieldsOfOneIdAreCorrupt) {
  auto labels = LabelByIds(
      *arrow::schema({WithId("a", arrow::int32(), 1), WithId("b", arrow::int32(), 1)}));
  EXPECT_EQ(labels.status().code(), StatusCode::kCorrupt);
}

TEST(Labels, AnIdAtAnyDepthCounts) {
  EXPECT_FALSE(HasIds(*arrow::schema({arrow::field("a", arrow::int32())})));
  auto inner = arrow::struct_({WithId("x", arrow::int32(), 5)});
  EXPECT_TRUE(HasIds(*arrow::schema({arrow::field("a", inner)})));
  EXPECT_FALSE(HasIds(*arrow::schema(
      {arrow::field("a", arrow::int32(), true,
                    arrow::key_value_metadata({"PARQUET:field_id"}, {"x1"}))})));
}

TEST(Labels, AMappingGivesIdsToNames) {
  auto mapping = NameMapping::Parse(R"([
    {"field-id": 1, "names": ["id", "record_id"]},
    {"field-id": 2, "names": ["where"], "fields": [
      {"field-id": 3, "names": ["lat"]}, {"names": ["ignored"]}]},
    {"field-id": 4, "names": ["tags"], "fields": [
      {"field-id": 5, "names": ["element"]}]},
    {"field-id": 6, "names": ["counts"], "fields": [
      {"field-id": 7, "names": ["key"]}, {"field-id": 8, "names": ["value"]}]},
    {"field-id": 9, "names": []}])");
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  auto labels = LabelByNames(
      *arrow::schema(
          {arrow::field("record_id", arrow::int64()),
           arrow::field("other", arrow::utf8()),
           arrow::field("where", arrow::struct_({arrow::field("ignored", arrow::int8()),
                                                 arrow::field("lat", arrow::float64()),
                                                 arrow::field("id", arrow::int8())})),
           arrow::field("tags", arrow::list(arrow::field("item", arrow::utf8()))),
           arrow::field("counts", arrow::map(arrow::utf8(), arrow::int32()))}),
      *mapping);
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ((*labels)->GetFieldIndex("id1"), 0);
  const auto& where = static_cast<const arrow::StructType&>(*(*labels)->field(2)->type());
  EXPECT_EQ((*labels)->field(2)->name(), "id2");
  EXPECT_EQ(where.GetFieldIndex("id3"), 1);
  // "id" is mapped at the top only.
  EXPECT_EQ(where.GetFieldIndex("id1"), -1);
  EXPECT_EQ((*labels)->field(3)->type()->field(0)->name(), "id5");
  const auto& counts = static_cast<const arrow::MapType&>(*(*labels)->field(4)->type());
  EXPECT_EQ(counts.item_field()->name(), "id8");
}

TEST(Labels, WhatIsNoMappingIsNamed) {
  for (const char* text : {"", "{", "{}", "[1]", R"([{"field-id": 1}])",
                           R"([{"field-id": "x", "names": []}])",
                           R"([{"names": ["a"]}, {"names": ["a"]}])"}) {
    EXPECT_EQ(NameMapping::Parse(text).status().code(), StatusCode::kInvalid) << text;
  }
}

TEST(Labels, ByPlaceCountsFromOne) {
  auto labels = LabelByPlace(*arrow::schema(
      {arrow::field("a", arrow::int32()), arrow::field("b", arrow::int32())}));
  ASSERT_TRUE(labels.ok());
  EXPECT_EQ((*labels)->GetFieldIndex("id2"), 1);
}

TEST(Labels, RelabellingRefusesAnotherShape) {
  auto data = (*arrow::MakeArrayOfNull(arrow::int32(), 3))->data();
  EXPECT_FALSE(Relabel(data, arrow::list(arrow::int32())).ok());
}

}  // namespace
}  // namespace forebay::table::by_id
