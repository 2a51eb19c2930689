#include "model/schema.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay::model {
namespace {

Field Make(std::string name, std::string format, std::vector<Field> children = {}) {
  return {.name = std::move(name),
          .format = std::move(format),
          .nullable = true,
          .metadata = {},
          .children = std::move(children)};
}

Schema Sample() {
  Schema schema;
  schema.metadata = {{"made by", "a test"}};
  schema.fields = {Make("id", "l"), Make("tags", "+l", {Make("item", "u")}),
                   Make("place", "+s", {Make("x", "f"), Make("y", "f")})};
  schema.fields[0].nullable = false;
  schema.fields[0].metadata = {{"unit", ""}, {"", "empty key"}};
  return schema;
}

TEST(Schema, GivesBackWhatWasEncoded) {
  auto schema = Schema::Decode(Sample().Encode());
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(*schema, Sample());
  EXPECT_EQ(*Schema::Decode(Schema().Encode()), Schema());
}

TEST(Schema, RefusesEveryTruncation) {
  std::string bytes = Sample().Encode();
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto schema = Schema::Decode(bytes.substr(0, size));
    ASSERT_FALSE(schema.ok()) << size;
    EXPECT_EQ(schema.status().code(), StatusCode::kCorrupt);
  }
  EXPECT_FALSE(Schema::Decode(bytes + '\0').ok());
}

TEST(Schema, SurvivesEveryFlippedBit) {
  std::string bytes = Sample().Encode();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    auto schema = Schema::Decode(other);
    if (!schema.ok()) continue;
    EXPECT_EQ(schema->Encode().size(), bytes.size()) << bit;
  }
}

TEST(Schema, RefusesNestingWithoutEnd) {
  Field field = Make("x", "+l");
  for (int depth = 0; depth < 60; ++depth) field = Make("x", "+l", {field});
  Schema schema{.fields = {field}, .metadata = {}};
  EXPECT_TRUE(Schema::Decode(schema.Encode()).ok());
  for (int depth = 0; depth < 10; ++depth) field = Make("x", "+l", {field});
  schema.fields = {field};
  EXPECT_EQ(Schema::Decode(schema.Encode()).status().message(),
            "the schema is nested too deeply");
}

TEST(Schema, FindsColumnsByName) {
  EXPECT_EQ(Sample().Find("place"), 2U);
  EXPECT_EQ(Sample().Find("Place"), std::nullopt);
}

TEST(Project, GivesAscendingColumnsWhateverTheOrderAsked) {
  EXPECT_EQ(*Project(Sample(), {"place", "id"}), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(*Project(Sample(), {}), (std::vector<uint32_t>{0, 1, 2}));
}

TEST(Project, NamesWhatIsWrong) {
  EXPECT_EQ(
      Project(Sample(), {"id", "label"}).status(),
      Status::Invalid("there is no column 'label'; the columns are: id, tags, place"));
  EXPECT_EQ(Project(Sample(), {"id", "tags", "id"}).status(),
            Status::Invalid("column 'id' is asked for twice"));
}

TEST(TypeName, ReadsAsPeopleWriteTypes) {
  const std::pair<const char*, const char*> kTable[] = {{"l", "int64"},
                                                        {"e", "halffloat"},
                                                        {"U", "large_string"},
                                                        {"tdD", "date32"},
                                                        {"ttu", "time64[us]"},
                                                        {"tss:", "timestamp[s]"},
                                                        {"tsn:UTC", "timestamp[ns, UTC]"},
                                                        {"tDm", "duration[ms]"},
                                                        {"w:16", "fixed[16]"},
                                                        {"d:10,2", "decimal(10,2)"},
                                                        {"??", "??"}};
  for (auto [format, name] : kTable) EXPECT_EQ(TypeName(Make("c", format)), name);
  EXPECT_EQ(TypeName(Sample().fields[1]), "list<string>");
  EXPECT_EQ(TypeName(Sample().fields[2]), "struct<x: float, y: float>");
  EXPECT_EQ(TypeName(Make("c", "+w:3", {Make("i", "e")})),
            "fixed_size_list<halffloat>[3]");
}

TEST(TypeName, TakesAnyFormatString) {
  constexpr uint32_t kSeed = 11;
  std::mt19937 random(kSeed);
  constexpr std::string_view kLetters = "ts:umnwd+lLsD?";
  for (int round = 0; round < 20'000; ++round) {
    std::string format(random() % 6, ' ');
    for (char& c : format) c = kLetters[random() % kLetters.size()];
    EXPECT_EQ(TypeName(Make("c", format)).empty(), format.empty()) << format;
  }
}

}  // namespace
}  // namespace forebay::model
