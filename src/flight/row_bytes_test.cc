#include "flight/row_bytes.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <numeric>

#include "flight/served_rows.h"
#include "table/arrow_schema.h"

namespace forebay::flight {
namespace {

std::optional<uint64_t> BoundOf(const arrow::Schema& schema, uint64_t rows) {
  model::Schema model = table::FromArrowSchema(schema).ValueOrDie();
  std::vector<uint32_t> columns(model.fields.size());
  std::iota(columns.begin(), columns.end(), 0U);
  return RowChunkBytesMax(model, columns, rows);
}

uint64_t SizeOf(const std::shared_ptr<arrow::Schema>& schema, int64_t rows) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const auto& field : schema->fields()) {
    // Nulls, so that validity is sent too.
    columns.push_back(arrow::MakeArrayOfNull(field->type(), rows).ValueOrDie());
  }
  auto batch = arrow::RecordBatch::Make(schema, rows, std::move(columns));
  return RowChunk::Make(std::move(batch)).ValueOrDie().size();
}

TEST(RowChunkBound, IsAboveWhatRowsTakeAndNotFarAbove) {
  auto wide = arrow::schema(
      {arrow::field("flag", arrow::boolean()), arrow::field("small", arrow::int8()),
       arrow::field("x", arrow::float64()),
       arrow::field("list", arrow::fixed_size_list(arrow::float32(), 64)),
       arrow::field("both", arrow::struct_({arrow::field("a", arrow::int64()),
                                            arrow::field("b", arrow::boolean())})),
       arrow::field("bytes", arrow::fixed_size_binary(13)),
       arrow::field("none", arrow::null())});
  for (int64_t rows : {0, 1, 1000, 100'000}) {
    uint64_t bound = BoundOf(*wide, rows).value();
    uint64_t size = SizeOf(wide, rows);
    EXPECT_GE(bound, size) << rows;
    EXPECT_LE(bound, size + size / 10 + 64 * 1024) << rows;
  }
}

TEST(RowChunkBound, CountsWhatFieldsSayOfThemselves) {
  auto metadata = arrow::key_value_metadata({"about"}, {std::string(200'000, 'x')});
  auto schema = arrow::schema(
      {arrow::field(std::string(50'000, 'n'), arrow::int8(), true, metadata)});
  EXPECT_GE(BoundOf(*schema, 10).value(), SizeOf(schema, 10));
}

TEST(RowChunkBound, IsNotKnownOfTexts) {
  EXPECT_EQ(BoundOf(*arrow::schema({arrow::field("text", arrow::utf8())}), 1),
            std::nullopt);
  auto lists = arrow::fixed_size_list(arrow::list(arrow::int8()), 2);
  EXPECT_EQ(BoundOf(*arrow::schema({arrow::field("lists", lists)}), 1), std::nullopt);
}

}  // namespace
}  // namespace forebay::flight
