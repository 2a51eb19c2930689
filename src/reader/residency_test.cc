#include "reader/residency.h"

#include <gtest/gtest.h>

namespace forebay::reader {
namespace {

model::Field Of(const std::string& format, std::vector<model::Field> children = {}) {
  return {.name = format,
          .format = format,
          .nullable = true,
          .metadata = {},
          .children = std::move(children)};
}

uint64_t BytesOfHundredRows(const model::Field& field) {
  model::Schema schema;
  schema.fields.push_back(field);
  model::ManifestBuilder builder(
      {.version = HashBytes("v"), .origin = "here", .schema = schema});
  uint32_t object =
      builder.AddObject({"s3://b/b", {.size = 9, .etag = "\"e\""}}, {.row_count = 100});
  builder.AddUnit({.pieces = {{object, 0, 1, 100}},
                   .range_rows = {64, 36},
                   .wide_columns = {},
                   .context = {}});
  auto bytes = std::make_shared<std::string>(builder.Finish());
  auto manifest = model::Manifest::View(*bytes, bytes);
  EXPECT_TRUE(manifest.ok()) << manifest.status();
  return StoredBytesMin(**manifest, {0});
}

TEST(Residency, CountsValuesOfAllWidthsAndOffsetsOfTheRest) {
  EXPECT_EQ(BytesOfHundredRows(Of("l")), 800U);
  EXPECT_EQ(BytesOfHundredRows(Of("b")), 12U);
  EXPECT_EQ(BytesOfHundredRows(Of("+w:128", {Of("f")})), 51'200U);
  EXPECT_EQ(BytesOfHundredRows(Of("+s", {Of("i"), Of("g")})), 1'200U);
  EXPECT_EQ(BytesOfHundredRows(Of("u")), 400U);
  EXPECT_EQ(BytesOfHundredRows(Of("+L", {Of("g")})), 800U);
}

}  // namespace
}  // namespace forebay::reader
