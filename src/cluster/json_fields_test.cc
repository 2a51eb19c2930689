#include "cluster/json_fields.h"

#include <gtest/gtest.h>

namespace forebay::cluster {
namespace {

TEST(JsonFields, ReadsWhatIsThere) {
  auto fields = JsonFields::Parse(
      R"({"t": "text", "n": 5, "r": 2.5, "a": [1], "o": {"x": 1}, "z": null})", "it");
  EXPECT_EQ(fields.Text("t"), "text");
  EXPECT_EQ(fields.TextOr("t", "x"), "text");
  EXPECT_EQ(fields.TextOr("z", "x"), "x") << "null is absent";
  EXPECT_EQ(fields.Number("n"), 5U);
  EXPECT_EQ(fields.NumberOr("n", 7), 5U);
  EXPECT_EQ(fields.NumberOr("no", 7), 7U);
  EXPECT_EQ(fields.Real("r"), 2.5);
  EXPECT_EQ(fields.Real("n"), 5);
  EXPECT_EQ(fields.Array("a").size(), 1U);
  EXPECT_EQ(fields.Any("o")["x"], 1);
  EXPECT_TRUE(fields.Any("no").is_null());
  EXPECT_TRUE(fields.status().ok()) << fields.status();
}

TEST(JsonFields, RemembersTheFirstThingThatIsWrong) {
  auto said = [](auto read) {
    auto fields = JsonFields::Parse(R"({"t": "text", "n": -5, "f": 1.5})", "it");
    read(fields);
    EXPECT_EQ(fields.status().code(), StatusCode::kInvalid);
    return fields.status().message();
  };
  EXPECT_EQ(said([](auto& f) { f.Text("n"); }), "it has no text 'n'");
  EXPECT_EQ(said([](auto& f) {
              f.Text("x");
              f.Number("t");
            }),
            "it has no text 'x'");
  EXPECT_EQ(said([](auto& f) { f.TextOr("n", ""); }), "it has no text 'n'");
  EXPECT_EQ(said([](auto& f) { f.Number("n"); }), "it has no whole number 'n'");
  EXPECT_EQ(said([](auto& f) { f.Number("f"); }), "it has no whole number 'f'");
  EXPECT_EQ(said([](auto& f) { f.NumberOr("t", 1); }), "it has no whole number 't'");
  EXPECT_EQ(said([](auto& f) { f.Real("t"); }), "it has no number 't'");
  EXPECT_EQ(said([](auto& f) { f.Array("t"); }), "it has no list 't'");
}

TEST(JsonFields, IsOfAnObject) {
  for (const char* text : {"", "[]", "5", "no", "{", "{}{}"}) {
    auto fields = JsonFields::Parse(text, "it");
    EXPECT_EQ(fields.Text("t"), "");
    EXPECT_TRUE(fields.Any("t").is_null());
    fields.RefuseUnknown();
    EXPECT_EQ(fields.status().message(), "it is not a JSON object") << text;
  }
}

TEST(JsonFields, RefusesUnknownMembersWithTheNearMiss) {
  auto said = [](const char* text) {
    auto fields = JsonFields::Parse(text, "a dataset");
    fields.Text("name");
    (void)fields.Any("columns");
    fields.RefuseUnknown();
    return fields.status().message();
  };
  EXPECT_EQ(said(R"({"name": "a", "columns": []})"), "");
  EXPECT_EQ(said(R"({"name": "a"})"), "");
  EXPECT_EQ(said(R"({"name": "a", "colums": []})"),
            "a dataset has no member 'colums'; did you mean columns?");
  EXPECT_EQ(said(R"({"nmae": "a"})"),
            "a dataset has no member 'nmae'; did you mean name?")
      << "rather than that the name is missing";
  EXPECT_EQ(said(R"({"name": "a", "zzz": null})"), "a dataset has no member 'zzz'");
}

TEST(ParseJson, RefusesWhatIsNestedTooDeeply) {
  auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ParseJson(nested(64)).is_array());
  EXPECT_TRUE(ParseJson(nested(65)).is_discarded());
  EXPECT_TRUE(ParseJson(nested(5'000'000)).is_discarded());
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += R"({"a":)";
  EXPECT_TRUE(ParseJson(objects + "1" + std::string(65, '}')).is_discarded());
  std::string flat = "[";
  for (int i = 0; i < 1'000; ++i) flat += "[],{},";
  EXPECT_TRUE(ParseJson(flat + "1]").is_array()) << "wide is not deep";
  std::string brackets(100, '[');
  EXPECT_TRUE(ParseJson('"' + brackets + '"').is_string()) << "in a text";
  EXPECT_TRUE(ParseJson(R"(["\\"", ")" + brackets + R"("])").is_discarded());
  EXPECT_TRUE(ParseJson(R"(["\"", ")" + brackets + R"("])").is_array());
}

}  // namespace
}  // namespace forebay::cluster
