#include "table/filter/bind.h"

#include <gtest/gtest.h>

#include "table/filter/reference_filter.h"

namespace forebay::table::filter {
namespace {

Result<BoundFilter> BindText(const std::string& text) {
  auto parsed = Filter::Parse(text);
  if (!parsed.ok()) return parsed.status();
  return Bind(*parsed, TestSchema(TestColumns()));
}

std::string Canonical(const std::string& text) {
  auto bound = BindText(text);
  return bound.ok() ? bound->ToString() : bound.status().ToString();
}

TEST(Bind, PushesNegationIntoThePredicates) {
  EXPECT_EQ(Canonical("not (i < 5)"), "\"id1\" >= 5");
  EXPECT_EQ(Canonical("not (i = 5 and l > 3)"), "(\"id1\" != 5 or \"id2\" <= 3)");
  EXPECT_EQ(Canonical("not i in (1, 2)"), "\"id1\" not in 1, 2");
  EXPECT_EQ(Canonical("i not between 1 and 5"), "(\"id1\" < 1 or \"id1\" > 5)");
  EXPECT_EQ(Canonical("not s like 'a%'"), "\"id11\" not starts with 'a'");
  EXPECT_EQ(Canonical("not flag"), "\"id15\" = false");
}

TEST(Bind, EqualFiltersHaveEqualTexts) {
  EXPECT_EQ(Canonical("i = 1 and s = 'a'"), Canonical("('a' = s) AND i == 1.0"));
  EXPECT_EQ(Canonical("i in (3, 1, 2, 3)"), Canonical("i in (1,2,3)"));
  EXPECT_EQ(Canonical("i in (7)"), Canonical("i = 7"));
  EXPECT_EQ(Canonical("(i = 1 or i = 2) or l = 3"),
            Canonical("l = 3 or (i = 2 or i = 1)"));
  EXPECT_EQ(Canonical("day = date '2026-10-01'"), Canonical("day = '2026-10-01'"));
  EXPECT_EQ(Canonical("`ts tz` = '2026-10-01T02:00:00+02:00'"),
            Canonical("\"ts tz\" = '2026-10-01'"));
  EXPECT_EQ(Canonical("dec = 1.5"), Canonical("dec = '15.0e-1'"));
  EXPECT_EQ(Canonical("d = -0.0"), Canonical("d = 0"));
  EXPECT_NE(Canonical("s = 'a'' or ''b'"), Canonical("s = 'a' or s = 'b'"));
}

TEST(Bind, FoldsComparisonsThatNoValueDecides) {
  EXPECT_EQ(Canonical("i < 5000000000"), "\"id1\" is not null");
  EXPECT_EQ(Canonical("i > 5000000000"), "false");
  EXPECT_EQ(Canonical("i != 5000000000"), "\"id1\" is not null");
  EXPECT_EQ(Canonical("i >= -2147483648.5"), "\"id1\" is not null");
  EXPECT_EQ(Canonical("i = 2.5"), "false");
  EXPECT_EQ(Canonical("i > 2.5"), "\"id1\" > 2");
  EXPECT_EQ(Canonical("i < -2.5"), "\"id1\" <= -3");
  EXPECT_EQ(Canonical("l < 1e300"), "\"id2\" is not null");
  EXPECT_EQ(Canonical("dec > 1.234"), "\"id5\" > 1.23");
  EXPECT_EQ(Canonical("i in (1, 2.5, 5000000000)"), "\"id1\" = 1");
  EXPECT_EQ(Canonical("i not in (2.5)"), "\"id1\" is not null");
  EXPECT_EQ(Canonical("s like '%'"), "\"id11\" is not null");
  EXPECT_EQ(Canonical("i > 5000000000 or s = 'a'"), "\"id11\" = 'a'");
  EXPECT_EQ(Canonical("ns < '9999-01-01'"), "\"id10\" is not null");
  EXPECT_EQ(Canonical("f > 1e39"), Canonical("f > 3.4028234663852886e38"));
}

TEST(Bind, NanIsAboveEverythingAndEqualsItself) {
  EXPECT_EQ(Canonical("d = 'NaN'"), "\"id4\" is nan");
  EXPECT_EQ(Canonical("d >= 'nan'"), "\"id4\" is nan");
  EXPECT_EQ(Canonical("d > 'nan'"), "false");
  EXPECT_EQ(Canonical("d <= 'nan'"), "\"id4\" is not null");
  EXPECT_EQ(Canonical("d < 'nan'"), "(\"id4\" is not nan and \"id4\" is not null)");
}

TEST(Bind, NeedsOnlyColumnsThatStillMatter) {
  auto bound = BindText("info.n = 1 and (i > 5000000000 or s = 'a')");
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->NeededFieldIds(), (std::vector<int32_t>{11, 90}));
  EXPECT_EQ(bound->NeededChunkNames(), (std::vector<std::string>{"id11", "id90"}));
  EXPECT_TRUE(BindText("true")->NeededFieldIds().empty());
}

struct Bad {
  std::string text;
  int column;
  std::string message;
};

TEST(Bind, ErrorsPointAtThePlaceAndSayWhatToDo) {
  const Bad cases[] = {
      {"i = 'abc'", 5, "'abc' is not an int: write a number"},
      {"l > 1 and dec < true", 17, "true is not a decimal"},
      {"day > '2026-13-01'", 7, "write it as '2026-10-01'"},
      {"day > 5", 7, "5 is not a date"},
      {"ts > '2026-10-01T00:00:00Z'", 6, "leave the zone out"},
      {"u = '123'", 5, "write it as 'f79c3e09-"},
      {"s = 5", 5, "put it in 'single quotes'"},
      {"flag = 1", 8, "write true or false"},
      {"fix = X'00'", 7, "write its bytes in hex"},
      {"i is nan", 1, "has no NaN"},
      {"i like 'a%'", 1, "'like' is for strings"},
      {"i", 1, "not a boolean but int"},
      {"info = 1", 8, "can only be tested with 'is null'"},
      {"i in (1, 'x')", 10, "'x' is not an int"},
      {"dya = '2026-10-01'", 1, "there is no column 'dya': the table has day, "},
      {"INFO.n = 1", 1, "the table has info, "},
      {"info.m = 1", 1, "there is no column 'info.m': the struct has info.n, "},
      {"i.x = 1", 1, "only structs have columns inside"},
  };
  for (const Bad& bad : cases) {
    auto bound = BindText(bad.text);
    ASSERT_FALSE(bound.ok()) << bad.text;
    EXPECT_EQ(bound.status().code(), StatusCode::kInvalid);
    const std::string& message = bound.status().message();
    std::string start = "filter, column " + std::to_string(bad.column) + ": ";
    EXPECT_TRUE(message.starts_with(start)) << bad.text << "\n" << message;
    EXPECT_NE(message.find(bad.message), std::string::npos) << bad.text << "\n"
                                                            << message;
  }
}

TEST(Bind, RefusesColumnsOfTypesThatCantBeRead) {
  iceberg::Schema schema;
  schema.fields.resize(1);
  schema.fields[0].id = 1;
  schema.fields[0].name = "v";
  schema.fields[0].type.id = TypeId::kVariant;
  auto bound = Bind(*Filter::Parse("v is null"), schema);
  EXPECT_EQ(bound.status().code(), StatusCode::kUnsupported) << bound.status();
}

TEST(Bind, FindsFieldsWhoseNamesHaveDots) {
  iceberg::Schema schema = TestSchema(TestColumns());
  schema.fields[0].name = "info.n";
  auto dotted = Bind(*Filter::Parse("info.n = 1"), schema);
  ASSERT_TRUE(dotted.ok()) << dotted.status();
  EXPECT_EQ(dotted->ToString(), "\"id1\" = 1");
  auto quoted = Bind(*Filter::Parse("info.\"n\" = 1"), schema);
  ASSERT_TRUE(quoted.ok()) << quoted.status();
  EXPECT_EQ(quoted->ToString(), "\"id90\".\"id91\" = 1");
}

model::Field Plain(std::string name, std::string format) {
  model::Field field;
  field.name = std::move(name);
  field.format = std::move(format);
  return field;
}

TEST(Bind, PlainTablesGoByNameAndIndex) {
  model::Schema schema;
  schema.fields = {Plain("a", "c"), Plain("b\"x", "L"), Plain("s", "+s"),
                   Plain("t", "tsm:Europe/Berlin"), Plain("e", "tDu")};
  schema.fields[2].children = {Plain("in", "w:16")};
  schema.fields[2].children[0].metadata = {{"ARROW:extension:name", "arrow.uuid"}};
  auto text = [&](const std::string& filter) {
    auto bound = Bind(*Filter::Parse(filter), schema);
    return bound.ok() ? bound->ToString() : bound.status().ToString();
  };
  EXPECT_EQ(text("\"b\"\"x\" <= 18446744073709551615 and a > 3"),
            "(\"a\" > 3 and \"b\"\"x\" <= 18446744073709551615)");
  EXPECT_EQ(text("s.\"in\" = 'f79c3e09-677c-4bbd-a479-3f349cb785e7'"),
            "\"s\".\"in\" = f79c3e09-677c-4bbd-a479-3f349cb785e7");
  EXPECT_EQ(text("t > '2026-10-01'"), "\"t\" > 2026-10-01T00:00:00Z");
  EXPECT_NE(text("e is null").find("filters can't look at"), std::string::npos);
  auto bound = Bind(*Filter::Parse("t is null and s is not null"), schema);
  EXPECT_EQ(bound->NeededFieldIds(), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(bound->NeededChunkNames(), (std::vector<std::string>{"s", "t"}));
}

}  // namespace
}  // namespace forebay::table::filter
